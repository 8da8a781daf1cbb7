package logrule

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// loadRules are the rules of testdata, read as strictly as the agent reads them.
func loadRules(t testing.TB) []Rule {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.yaml")
	require.NoError(t, err)
	var file struct {
		Rules []Rule `yaml:"log_rules"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&file))
	return file.Rules
}

func TestExampleRulesAreValid(t *testing.T) {
	rules := loadRules(t)
	require.Len(t, rules, 6)
	require.NoError(t, Validate(rules))
}

func TestRejectedRules(t *testing.T) {
	for want, change := range map[string]func(*Rule){
		`name: "2x_total" must be letters, digits and underscores, and not begin with a digit`:  func(r *Rule) { r.Name = "2x_total" },
		`name: "a:b_total" must be letters, digits and underscores, and not begin with a digit`: func(r *Rule) { r.Name = "a:b_total" },
		`name: "gpu_oops_total" must not begin with gpu_, which is reserved`:                    func(r *Rule) { r.Name = "gpu_oops_total" },
		`name: "DCGM_FI_total" must not begin with DCGM_, which is reserved`:                    func(r *Rule) { r.Name = "DCGM_FI_total" },
		`name: "go_total" must not begin with go_, which is reserved`:                           func(r *Rule) { r.Name = "go_total" },
		`name: "scrape_total" must not begin with scrape_, which is reserved`:                   func(r *Rule) { r.Name = "scrape_total" },
		`name: "up" is reserved`:                                                                            func(r *Rule) { r.Type, r.Name = Gauge, "up" },
		`name: "oops" must end with _total, because it is a counter`:                                        func(r *Rule) { r.Name = "oops" },
		`name: "oops_total" must not end with _total, because it is a gauge`:                                func(r *Rule) { r.Type = Gauge },
		`name: "oops_count" must not end with _count, because it is a gauge`:                                func(r *Rule) { r.Type, r.Name = Gauge, "oops_count" },
		`type: "histogram" must be counter, gauge or event`:                                                 func(r *Rule) { r.Type = "histogram" },
		`help: must be at most 256 bytes`:                                                                   func(r *Rule) { r.Help = strings.Repeat("x", 257) },
		`either files or journal must be given`:                                                             func(r *Rule) { r.Files = nil },
		`files: "train.log" must be an absolute path`:                                                       func(r *Rule) { r.Files = []string{"train.log"} },
		`files: "/var/[x" is not a pattern: a [ must be closed`:                                             func(r *Rule) { r.Files = []string{"/var/[x"} },
		`files: there are 17, at most 16 are allowed`:                                                       func(r *Rule) { r.Files = make([]string, 17) },
		`journal: unit or identifier must be given, not the whole journal`:                                  func(r *Rule) { r.Files, r.Journal = nil, &Journal{} },
		`journal: "a b" must be letters, digits and any of @ : . _ - * ? \`:                                 func(r *Rule) { r.Files, r.Journal = nil, &Journal{Unit: []string{"a b"}} },
		`match: must be a regular expression of 1 to 2048 bytes`:                                            func(r *Rule) { r.Match = "" },
		"match: error parsing regexp: missing closing ): `(`":                                               func(r *Rule) { r.Match = "(" },
		`value: "size" is neither a number nor a group of match: name the group with (?P<size>…)`:           func(r *Rule) { r.Value = "size" },
		`value: "-1" must not be negative, because it is added to a counter`:                                func(r *Rule) { r.Value = "-1" },
		`value: must be left out, because it is an event`:                                                   func(r *Rule) { r.Type, r.Value = Event, "1" },
		`labels: must be left out, because it is an event`:                                                  func(r *Rule) { r.Type, r.Labels = Event, map[string]string{"a": "b"} },
		`labels: "node" is reserved`:                                                                        func(r *Rule) { r.Labels = map[string]string{"node": "x"} },
		`labels: "__name__" must be letters, digits and underscores, and begin with neither a digit nor __`: func(r *Rule) { r.Labels = map[string]string{"__name__": "x"} },
		`labels: a: "$who" is not a group of match: name the group with (?P<who>…)`:                         func(r *Rule) { r.Labels = map[string]string{"a": "$who"} },
		`labels: a: must be $group, or a text of 1 to 128 bytes`:                                            func(r *Rule) { r.Labels = map[string]string{"a": ""} },
		`labels: there are 9, at most 8 are allowed`: func(r *Rule) {
			r.Labels = map[string]string{}
			for i := range 9 {
				r.Labels[fmt.Sprint("l", i)] = "x"
			}
		},
		`max_series: -1 must be 1 to 10000`:             func(r *Rule) { r.MaxSeries = -1 },
		`max_line: 10 must be 64 to 1048576`:            func(r *Rule) { r.MaxLine = 10 },
		`max_events_per_minute: 9999 must be 1 to 6000`: func(r *Rule) { r.MaxEventsPerMinute = 9999 },
		`max_age: 1s must be 10s or more`:               func(r *Rule) { r.MaxAge = time.Second },
	} {
		r := Rule{Name: "oops_total", Type: Counter, Files: []string{"/var/log/x"}, Match: "oops"}
		require.NoError(t, r.Validate())
		change(&r)
		assert.EqualError(t, r.Validate(), want)
	}
}

func TestRulesTogether(t *testing.T) {
	rule := func(name string) Rule { return Rule{Name: name, Type: Event, Files: []string{"/x"}, Match: "x"} }
	assert.EqualError(t, Validate([]Rule{rule("a"), rule("b"), rule("a")}),
		`log_rules[2]: name: "a" is used twice: give one rule an expression with alternatives, or another name`)
	assert.EqualError(t, Validate(make([]Rule, 65)), "log_rules: there are 65, at most 64 are allowed")
	assert.ErrorContains(t, Validate([]Rule{rule("a"), {}}), "log_rules[1]: name: ")
	var journals []Rule
	for i := range 9 {
		journals = append(journals, Rule{Name: fmt.Sprint("j", i), Type: Event, Match: "x", Journal: &Journal{Unit: []string{fmt.Sprint("u", i)}}})
	}
	assert.EqualError(t, Validate(journals), "log_rules: there are 9 different journal selections, at most 8 are allowed: each is a process")
}
