package settings

import (
	"slices"
	"strings"
	"testing"
)

// formTexts are texts that the settings page judges itself, right and wrong ones, by the key that shows the rule.
func formTexts() map[string][]string {
	return map[string][]string{
		"clusters[].endpoints[].url": {
			"http://prometheus:9090", "https://mimir.example.com/prometheus", "http://a:9090/api/v1/", " http://a ", "http://[::1]:9090", "HTTP://a",
			"", "prometheus:9090", "ftp://a", "http://", "http://a:0", "http://a:65536", "http://a?x=1", "http://a#x", "http://u:p@a", "http://a:9400/metrics",
			"http://a b", "https://a/%zz",
		},
		"clusters[].endpoints[].id": {"north-a", "N_1", "", "a b", "north.a", "ä", long(64), long(65)},
		"clusters[].endpoints[].timeout": {
			"30s", "1m30s", "1.5m", ".5m", "1h", "1000ms", "", " 5s ", "30", "s", "1d", "-5s", "+5s", "5 s", "999ms", "10m1s", "600s",
		},
		"clusters[].endpoints[].replicaLabels": {"replica", "_r", "prometheus_replica", "a1", "1a", "a-b", "a.b", "ä"},
		"clusters[].endpoints[].headers": {
			"X-Scope-OrgID", "x_y", "A.b", "A b", "Ä", "a:b", "Content-Length", "host", "te", "Authorization",
		},
		"agents.static[].address": {"gpu-1", "gpu-1:9847", "10.0.0.1", "::1", "[::1]:9847", "", "gpu-1:0", "gpu-1:65536", "gpu-1:x", "http://gpu-1", "u@gpu-1", "a b", "a:b:c", "gpu-1:"},
		"agents.allow": {
			"10.0.0.0/8", "fd00::/8", "*.gpu.example.com", "gpu-?", "gpu-1", "gpu-1.", "10.0.0.1", "::1", "[::1]", "*",
			"10.0.0.0/33", "10.0.0/8", "http://gpu-1", "gpu-1:9847", "*.gpu.example.com:9847", "10.0.0.0/8:9847", "[fd00::/8]:9847", "gpu-1:0", "gpu-1:", "fd00::/8:9847", "[gpu-1]:9847", "[::1]:x", "a..b:1",
			"a..b", "a b", "u@a", ".", "300.0.0.1", "fd00::/129", "10.0.0.0/08",
		},
		"agents.dns[].name": {
			"_warpwatch._tcp.example.com", "dns+gpu.example.com", "dns+gpu.example.com:9847", "dnssrv+_a._tcp.b", "dnssrvnoa+_a._tcp.b", "dnssrv+a:53",
			"", "dnsx+a", "dns+", "dnssrv+", "a..b", "a b", "dns+a:0", "dnssrv+a:x",
		},
		"agents.files[].content": {
			`[{"targets": ["gpu-1"]}]`, `[{"targets": ["gpu-1:9847"], "labels": {"cluster": "north", "__scheme__": "https"}}]`,
			"- targets: [gpu-1, gpu-2]\n  labels:\n    cluster: north\n", "- targets:\n    - gpu-1\n",
			"", "[]", "{}", `[{"target": ["a"]}]`, `[{"targets": []}]`, `[{"targets": ["a:0"]}]`, `[{"targets": ["a", "b"], "labels": {"node": "n"}}]`,
			`[{"targets": ["a"], "labels": {"__scheme__": "ftp"}}]`, `[{"targets": ["a"]}`, "\t- targets: [a]", "just words",
		},
		"cache.remote.addresses": {"cache-1:6379", "[::1]:6379", "10.0.0.1:1", "cache-1", "cache-1:0", ":6379", "u@a:1", "a b:1"},
		"alertmanagers[].url":    {"http://alertmanager:9093", "https://mimir/alertmanager", "", "alertmanager:9093", "http://u@a"},
		"dialects":               {`[]`, `[{"name": "a"}]`, `{}`, `[`, `"x"`, `word`},
		"insight.maintenance[].from": {
			"2026-01-05T08:00:00Z", "2026-01-05T08:00:00+01:00", "2026-01-05T08:00:00.5Z", " 2026-01-05T08:00:00Z ",
			"", "2026-01-05", "2026-01-05 08:00:00", "2026-01-05T08:00:00", "2026-13-05T08:00:00Z", "2026-01-05T25:00:00Z", "now",
		},
		"insight.places.rack":         {"rack", "rack-id", "1a"},
		"insight.currency":            {"EUR", "", "credits", "far too long"},
		"insight.budgets[].namespace": {"team-a", "/team-.*/", "/(/", "", "/"},
	}
}

func long(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a'
	}
	return string(text)
}

// The texts that are refused here are refused by the settings page, and no others.
func TestFormTexts(t *testing.T) {
	verdicts := map[string]map[string]bool{}
	for path, texts := range formTexts() {
		verdicts[path] = map[string]bool{}
		list := rules(t)[path].Kind == "list"
		for _, text := range texts {
			var value any = text
			if list {
				value = []string{text}
			}
			verdicts[path][text] = !slices.ContainsFunc(problemsOf(t, path, value), func(key string) bool { return strings.HasPrefix(key, first(path)) })
		}
	}
	golden(t, "testdata/texts.json", verdicts)
}
