package settings

import (
	"strings"
	"testing"
	"time"
)

func TestFreshnessOfTheCache(t *testing.T) {
	const rest = `"clusters":[{"name":"north","endpoints":[{"id":"a","url":"http://a:9090"}]}]`
	for text, want := range map[string]time.Duration{``: 0, `"cache":{"freshness":"5m"},`: 5 * time.Minute, `"cache":{"freshness":""},`: 0} {
		s, err := Parse([]byte(`{`+text+rest+`}`), nil)
		if err != nil || s.Cache.Freshness != want || len(s.Unknown) > 0 {
			t.Errorf("%s: %s, %v, unknown %v", text, s.Cache.Freshness, err, s.Unknown)
		}
	}
	for text, want := range map[string]string{
		"1s":  "cache.freshness: 1s is out of range: write how late samples may reach Prometheus, between 5s and 24h0m0s, or leave it out",
		"-5m": "cache.freshness: -5m0s is out of range",
		"25h": "cache.freshness: 25h0m0s is out of range",
		"5":   `cache.freshness: "5" is not a duration: write a number with its unit, such as 15s or 1m`,
	} {
		if _, err := Parse([]byte(`{"cache":{"freshness":"`+text+`"},`+rest+`}`), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
