package plugin

import (
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// Lists that may have nothing to tell say what that means: a table without rows shows nothing but its head.
func TestEmptyListsSayWhatThatMeans(t *testing.T) {
	busy := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	nobody := exported(t, func(*promtest.Store) {})
	for raw, want := range map[string]string{
		`{"queryType":"health","options":{"show":"incidents"}}`:   "No fault is known that somebody has to see to.",
		`{"queryType":"efficiency","options":{"show":"idle"}}`:    "No GPU that somebody has is known to be idle.",
		`{"queryType":"efficiency","options":{"show":"jobs"}}`:    "No job tells of itself",
		`{"queryType":"efficiency","options":{"show":"budgets"}}`: "insight.budgets",
	} {
		all := answerTo(t, busy, raw)
		if len(all) != 1 || all[0].Rows() != 0 || strings.Count(noticeTexts(all), want) != 1 {
			t.Errorf("%s: %d frames: %s", raw, len(all), noticeTexts(all))
		}
	}
	all := answerTo(t, nobody, `{"queryType":"health","options":{"show":"incidents"}}`)
	if text := noticeTexts(all); !strings.Contains(text, "does not mean that all is well") || strings.Contains(text, "No fault is known") {
		t.Errorf("of no GPU: %s", text)
	}
}
