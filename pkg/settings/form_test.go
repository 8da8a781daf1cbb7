package settings

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the settings page reads of this package")

const formDir = "../../src/datasource/config"

// A rule is what the settings page knows of one key.
type rule struct {
	Kind    string   `json:"kind"` // text, number, flag, list, json, duration or bytes
	Default any      `json:"default,omitempty"`
	Least   any      `json:"least,omitempty"`
	Most    any      `json:"most,omitempty"`
	Choices []string `json:"choices,omitempty"`

	orZero bool // 0 stands for "not known", too
}

// bounded are the rules that types do not tell. TestFormBounds holds them against the validation.
func bounded() map[string]rule {
	const (
		endpoint, manager = "clusters[].endpoints[].", "alertmanagers[]."
		group             = "agents.groups[]."
	)
	methods := []string{"none", "basic", "bearer"}
	levels := []string{"info", "warning", "error"}
	compression := []string{"auto", "on", "off"}
	schemes := []string{"http", "https"}
	amount := rule{Kind: "number", Least: 0}
	return map[string]rule{
		"scrapeInterval": {Kind: "duration", Default: short(DefaultScrapeInterval.String()), Least: "1s", Most: "1h"},
		"maxSeries":      {Kind: "number", Default: DefaultMaxSeries, Least: minSeries, Most: maxSeries},
		"noticeLevel":    {Kind: "text", Default: "info", Choices: levels},
		"failedEndpoint": {Kind: "text", Default: "warning", Choices: levels},
		"compression":    {Kind: "text", Default: "auto", Choices: compression},
		"dialects":       {Kind: "json"},

		endpoint + "role":        {Kind: "text", Choices: []string{string(Replica), string(Shard)}},
		endpoint + "auth":        {Kind: "text", Default: "none", Choices: methods},
		endpoint + "timeout":     {Kind: "duration", Default: short(DefaultTimeout.String()), Least: "1s", Most: "10m"},
		endpoint + "concurrency": {Kind: "number", Default: DefaultConcurrency, Least: 1, Most: maxConcurrency},
		endpoint + "compression": {Kind: "text", Choices: compression},

		manager + "auth":    {Kind: "text", Default: "none", Choices: methods},
		manager + "timeout": {Kind: "duration", Default: short(DefaultAlertmanagerTimeout.String()), Least: "1s", Most: "1m"},

		"agents.discovery":       {Kind: "text", Default: "prometheus", Choices: []string{"prometheus", "static", "off"}},
		"agents.dns[].interval":  {Kind: "duration", Default: short(DefaultLookup.String()), Least: "5s", Most: "1h"},
		"agents.files[].content": {Kind: "json"},
		"agents.scheme":          {Kind: "text", Default: "http", Choices: schemes},
		"agents.auth":            {Kind: "text", Default: "none", Choices: methods},
		"agents.maxBytes":        {Kind: "bytes", Default: 256 << 20, Least: minAgentBytes, Most: maxAgentBytes},
		group + "scheme":         {Kind: "text", Choices: schemes},
		group + "auth":           {Kind: "text", Default: "none", Choices: methods},

		"live.maxStreams":        {Kind: "number", Default: DefaultMaxStreams, Least: 1, Most: mostStreams},
		"live.maxStreamsPerUser": {Kind: "number", Default: DefaultMaxUserStreams, Least: 1, Most: DefaultMaxStreams},

		"cache.maxBytes":        {Kind: "bytes", Default: DefaultCacheBytes, Least: minCacheBytes, Most: maxCacheBytes},
		"cache.freshness":       {Kind: "duration", Least: "5s", Most: "24h"},
		"cache.remote.type":     {Kind: "text", Choices: []string{"memcached", "redis"}},
		"cache.remote.timeout":  {Kind: "duration", Default: DefaultCacheTimeout.String(), Least: "10ms", Most: "10s"},
		"cache.remote.database": {Kind: "number", Default: 0, Least: 0, Most: 15},

		"insight.limits":                {Kind: "json"},
		"insight.currency":              {Kind: "text", Default: DefaultCurrency},
		"insight.prices[].perGPUHour":   amount,
		"insight.energy.pricePerKWh":    amount,
		"insight.energy.carbonKgPerKWh": amount,
		"insight.energy.pue":            {Kind: "number", Least: 1, Most: 10, orZero: true},
		"insight.budgets[].month":       {Kind: "number"},
		"insight.classes[].class":       {Kind: "text", Choices: classNames()},
		"insight.places.rack":           {Kind: "list", Default: DefaultPlaces().Rack},
		"insight.places.power":          {Kind: "list", Default: DefaultPlaces().Power},
		"insight.places.fabric":         {Kind: "list", Default: DefaultPlaces().Fabric},
		"insight.places.leaf":           {Kind: "list", Default: DefaultPlaces().Leaf},
		"oauthPassThru":                 {Kind: "flag"},
	}
}

// short writes 1m0s as 1m.
func short(text string) string {
	if strings.HasSuffix(text, "m0s") {
		return strings.TrimSuffix(text, "0s")
	}
	return text
}

// rules are those of every key that is read, by its path; [] stands for any entry of a list.
func rules(t *testing.T) map[string]rule {
	t.Helper()
	known, all := bounded(), map[string]rule{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if r, ok := known[path]; ok {
			all[path] = r
			return
		}
		switch typ.Kind() {
		case reflect.Struct:
			for name, field := range fieldsOf(typ) {
				walk(strings.TrimPrefix(path+"."+name, "."), field)
			}
		case reflect.Slice:
			if typ.Elem().Kind() == reflect.Struct {
				walk(path+"[]", typ.Elem())
				return
			}
			all[path] = rule{Kind: "list"}
		case reflect.Bool:
			all[path] = rule{Kind: "flag"}
		case reflect.String:
			all[path] = rule{Kind: "text"}
		default:
			t.Errorf("%s: say in bounded() which values it may have", path)
		}
	}
	walk("", reflect.TypeFor[stored]())
	for path := range known {
		if _, ok := all[path]; !ok {
			t.Errorf("bounded() names %s, which is not read", path)
		}
	}
	return all
}

// The settings page checks with the same bounds, and shows the same defaults.
func TestFormRules(t *testing.T) {
	golden(t, "rules.json", rules(t))
}

// What bounded() says is what Parse does: bounds are taken, what lies beyond is refused, and so is another choice.
func TestFormBounds(t *testing.T) {
	for path, r := range bounded() {
		if r.Kind == "json" || r.Kind == "flag" {
			continue
		}
		for _, good := range append(stringsToAny(r.Choices), r.Least, r.Most) {
			if good != nil && refuses(t, path, good) {
				t.Errorf("%s: %v is refused", path, good)
			}
		}
		for _, bad := range []any{beyond(r.Least, -1), beyond(r.Most, 1)} {
			if bad != nil && !(r.orZero && bad == 0) && !refuses(t, path, bad) {
				t.Errorf("%s: %v is taken", path, bad)
			}
		}
		if len(r.Choices) > 0 && !refuses(t, path, "other") {
			t.Errorf("%s: any word is taken", path)
		}
	}
}

func stringsToAny(list []string) []any {
	all := make([]any, len(list))
	for i, text := range list {
		all[i] = text
	}
	return all
}

// beyond is just outside of a bound.
func beyond(bound any, by int) any {
	switch b := bound.(type) {
	case int:
		return b + by
	case string:
		if by > 0 {
			return b + "1ms"
		}
		return "1ns"
	}
	return nil
}

// refuses reports whether a value at the path, with the first entry in every list on the way, is a problem of that key.
func refuses(t *testing.T, path string, value any) bool {
	t.Helper()
	return slices.ContainsFunc(problemsOf(t, path, value), func(key string) bool { return key == first(path) })
}

// first is a path to the first entries of the lists on the way.
func first(path string) string { return strings.ReplaceAll(path, "[]", "[0]") }

// problemsOf are the keys that Parse names when nothing but a value is set.
func problemsOf(t *testing.T, path string, value any) []string {
	t.Helper()
	doc := map[string]any{}
	place, steps := doc, strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		name, inList := strings.CutSuffix(step, "[]")
		next := map[string]any{}
		place[name] = next
		if inList {
			place[name] = []any{next}
		}
		place = next
	}
	if place[steps[len(steps)-1]] = value; strings.HasPrefix(path, "cache.remote.") && place["type"] == nil {
		place["type"] = "redis" // nothing of it is looked at without a type
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	if _, err := Parse(raw, nil); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			key, _, _ := strings.Cut(line, ": ")
			keys = append(keys, key)
		}
	}
	return keys
}

// golden compares with a file of the settings page.
func golden(t *testing.T, name string, value any) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(formDir, name)
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if compact(t, have) != compact(t, text.Bytes()) {
		t.Errorf("%s is out of date: run go test ./pkg/settings -run Form -update, and give new keys a field", file)
	}
}

// compact is JSON without its layout, which is the formatter's.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(fmt.Errorf("%w in %s", err, raw))
	}
	return out.String()
}
