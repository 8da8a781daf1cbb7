// Package logrule turns lines of logs into metrics and events, by rules: a regular expression with named groups over files
// or the systemd journal. A trainer that only prints its loss, and a library that only prints a warning, are seen so.
//
// Everything that a log could make grow is bounded: the length of a line, the number of files, the series of a rule, the
// events of a minute. Expressions are RE2's, so no line takes more than linear time.
package logrule

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// Rule is one entry of the "log_rules" part of the agent's file.
type Rule struct {
	Name string `yaml:"name"` // of the metric, or of the event
	Help string `yaml:"help"`
	Type Type   `yaml:"type"`

	Files   []string `yaml:"files"`   // patterns of absolute paths
	Journal *Journal `yaml:"journal"` // instead of files

	Match string `yaml:"match"`
	// Value is the name of a group, or a number: what a gauge is set to, or by how much a counter grows. "" is 1.
	Value string `yaml:"value"`
	// Labels are texts, or "$group".
	Labels map[string]string `yaml:"labels"`

	MaxSeries          int           `yaml:"max_series"`            // 0 is 100
	MaxLine            int           `yaml:"max_line"`              // bytes; longer lines are skipped; 0 is 16 KiB
	MaxAge             time.Duration `yaml:"max_age"`               // a gauge that is not set for so long is gone; 0 is 15m
	MaxEventsPerMinute int           `yaml:"max_events_per_minute"` // 0 is 60
}

// Type is what a match becomes.
type Type string

// The types of rules.
const (
	Counter Type = "counter"
	Gauge   Type = "gauge"
	Event   Type = "event"
)

// Journal selects entries of the systemd journal: of any of the units, and by any of the identifiers.
type Journal struct {
	Unit       []string `yaml:"unit"`
	Identifier []string `yaml:"identifier"`
}

// Limits of a configuration, and the defaults.
const (
	maxRules          = 64
	maxPatterns       = 16 // files, units or identifiers of one rule
	maxMatch          = 2048
	maxHelp           = 256
	maxLabels         = 8
	maxLabelText      = 128
	defaultMaxSeries  = 100
	maxMaxSeries      = 10_000
	defaultMaxLine    = 16 << 10
	minMaxLine        = 64
	maxMaxLine        = 1 << 20
	defaultMaxAge     = 15 * time.Minute
	minMaxAge         = 10 * time.Second
	defaultEvents     = 60
	maxEvents         = 6000
	maxJournalSources = 8
)

// reservedLabels are given by the agent, or mean something to Prometheus.
func reservedLabels() []string {
	return []string{"cluster", "node", "instance", "job", "le", "quantile"}
}

// Validate says what must be changed, nil when nothing must.
func (r Rule) Validate() error {
	_, err := compile(r)
	return err
}

// Validate checks rules together: their number and names, too.
func Validate(rules []Rule) error {
	_, err := compileAll(rules)
	return err
}

func compileAll(rules []Rule) ([]*compiled, error) {
	if len(rules) > maxRules {
		return nil, fmt.Errorf("log_rules: there are %d, at most %d are allowed", len(rules), maxRules)
	}
	var all []*compiled
	var errs []error
	names := map[string]bool{}
	journals := map[string]bool{}
	for i, r := range rules {
		c, err := compile(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("log_rules[%d]: %w", i, err))
			continue
		}
		if names[r.Name] {
			errs = append(errs, fmt.Errorf("log_rules[%d]: name: %q is used twice: give one rule an expression with alternatives, or another name", i, r.Name))
		}
		names[r.Name] = true
		if r.Journal != nil {
			journals[r.Journal.key()] = true
		}
		all = append(all, c)
	}
	if len(journals) > maxJournalSources {
		errs = append(errs, fmt.Errorf("log_rules: there are %d different journal selections, at most %d are allowed: each is a process", len(journals), maxJournalSources))
	}
	return all, errors.Join(errs...)
}

// compiled is a rule that is ready to be used.
type compiled struct {
	Rule
	match  *regexp.Regexp
	value  int     // index of the group, 0 for number
	number float64 // when value is 0
	labels []labelSource

	uuid, xid int // indices of the groups of an event, 0 for none
}

// labelSource is where a label's value comes from.
type labelSource struct {
	name  string
	group int // 0 for text
	text  string
}

func compile(r Rule) (*compiled, error) {
	c := &compiled{Rule: r}
	errs := []error{r.checkName(), r.checkSource()}
	if r.Match == "" || len(r.Match) > maxMatch {
		errs = append(errs, fmt.Errorf("match: must be a regular expression of 1 to %d bytes", maxMatch))
	} else if re, err := regexp.Compile(r.Match); err != nil {
		errs = append(errs, fmt.Errorf("match: %w", err))
	} else {
		c.match = re
		errs = append(errs, c.compileValue(), c.compileLabels())
		c.uuid, c.xid = max(re.SubexpIndex("gpu_uuid"), 0), max(re.SubexpIndex("xid"), 0)
	}
	errs = append(errs, c.defaults())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (r Rule) checkName() error {
	if !regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}$`).MatchString(r.Name) {
		return fmt.Errorf("name: %q must be letters, digits and underscores, and not begin with a digit", r.Name)
	}
	switch prefix, reserved := workload.ReservedName(r.Name); {
	case reserved && prefix == r.Name:
		return fmt.Errorf("name: %q is reserved", r.Name)
	case reserved:
		return fmt.Errorf("name: %q must not begin with %s, which is reserved", r.Name, prefix)
	}
	switch r.Type {
	case Counter:
		if !strings.HasSuffix(r.Name, "_total") {
			return fmt.Errorf("name: %q must end with _total, because it is a counter", r.Name)
		}
	case Gauge:
		for _, suffix := range []string{"_total", "_count", "_sum", "_bucket"} {
			if strings.HasSuffix(r.Name, suffix) {
				return fmt.Errorf("name: %q must not end with %s, because it is a gauge", r.Name, suffix)
			}
		}
	case Event:
	default:
		return fmt.Errorf("type: %q must be counter, gauge or event", r.Type)
	}
	if len(r.Help) > maxHelp {
		return fmt.Errorf("help: must be at most %d bytes", maxHelp)
	}
	return nil
}

func (r Rule) checkSource() error {
	if (len(r.Files) == 0) == (r.Journal == nil) {
		return errors.New("either files or journal must be given")
	}
	if r.Journal != nil {
		return r.Journal.check()
	}
	if len(r.Files) > maxPatterns {
		return fmt.Errorf("files: there are %d, at most %d are allowed", len(r.Files), maxPatterns)
	}
	for _, pattern := range r.Files {
		if !filepath.IsAbs(pattern) {
			return fmt.Errorf("files: %q must be an absolute path", pattern)
		}
		if _, err := filepath.Match(pattern, ""); err != nil {
			return fmt.Errorf("files: %q is not a pattern: a [ must be closed", pattern)
		}
	}
	return nil
}

func (j Journal) check() error {
	if len(j.Unit)+len(j.Identifier) == 0 {
		return errors.New("journal: unit or identifier must be given, not the whole journal")
	}
	if len(j.Unit) > maxPatterns || len(j.Identifier) > maxPatterns {
		return fmt.Errorf("journal: at most %d units and %d identifiers are allowed", maxPatterns, maxPatterns)
	}
	allowed := regexp.MustCompile(`^[A-Za-z0-9@:._*?\\-]{1,255}$`)
	for _, name := range slices.Concat(j.Unit, j.Identifier) {
		if !allowed.MatchString(name) {
			return fmt.Errorf("journal: %q must be letters, digits and any of @ : . _ - * ? \\", name)
		}
	}
	return nil
}

// key is the same for journals that select the same.
func (j Journal) key() string {
	return strings.Join(slices.Sorted(slices.Values(j.Unit)), " ") + "\n" + strings.Join(slices.Sorted(slices.Values(j.Identifier)), " ")
}

func (c *compiled) compileValue() error {
	c.number = 1
	if c.Value == "" {
		return nil
	}
	if c.Type == Event {
		return errors.New("value: must be left out, because it is an event")
	}
	if c.value = max(c.match.SubexpIndex(c.Value), 0); c.value > 0 {
		return nil
	}
	number, err := strconv.ParseFloat(c.Value, 64)
	if err != nil {
		return fmt.Errorf("value: %q is neither a number nor a group of match: name the group with (?P<%s>…)", c.Value, c.Value)
	}
	if c.Type == Counter && !countable(number) {
		return fmt.Errorf("value: %q must not be negative, because it is added to a counter", c.Value)
	}
	c.number = number
	return nil
}

func (c *compiled) compileLabels() error {
	if c.Type == Event && len(c.Labels) > 0 {
		return errors.New("labels: must be left out, because it is an event")
	}
	if len(c.Labels) > maxLabels {
		return fmt.Errorf("labels: there are %d, at most %d are allowed", len(c.Labels), maxLabels)
	}
	valid := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
	for _, name := range slices.Sorted(maps.Keys(c.Labels)) {
		if !valid.MatchString(name) || strings.HasPrefix(name, "__") {
			return fmt.Errorf("labels: %q must be letters, digits and underscores, and begin with neither a digit nor __", name)
		}
		if slices.Contains(reservedLabels(), name) {
			return fmt.Errorf("labels: %q is reserved", name)
		}
		source := labelSource{name: name, text: c.Labels[name]}
		if group, ok := strings.CutPrefix(source.text, "$"); ok {
			if source.group = c.match.SubexpIndex(group); group == "" || source.group < 1 {
				return fmt.Errorf("labels: %s: %q is not a group of match: name the group with (?P<%s>…)", name, source.text, group)
			}
		} else if source.text == "" || len(source.text) > maxLabelText {
			return fmt.Errorf("labels: %s: must be $group, or a text of 1 to %d bytes", name, maxLabelText)
		}
		c.labels = append(c.labels, source)
	}
	return nil
}

// defaults fills in what was left out, and checks the limits.
func (c *compiled) defaults() error {
	limit := func(name string, is *int, usual, least, most int) error {
		if *is == 0 {
			*is = usual
		}
		if *is < least || *is > most {
			return fmt.Errorf("%s: %d must be %d to %d", name, *is, least, most)
		}
		return nil
	}
	errs := []error{
		limit("max_series", &c.MaxSeries, defaultMaxSeries, 1, maxMaxSeries),
		limit("max_line", &c.MaxLine, defaultMaxLine, minMaxLine, maxMaxLine),
		limit("max_events_per_minute", &c.MaxEventsPerMinute, defaultEvents, 1, maxEvents),
	}
	if c.MaxAge == 0 {
		c.MaxAge = defaultMaxAge
	}
	if c.MaxAge < minMaxAge {
		errs = append(errs, fmt.Errorf("max_age: %s must be %s or more", c.MaxAge, minMaxAge))
	}
	if c.Help == "" {
		c.Help = "Read from a log by the rule " + c.Name + "."
	}
	return errors.Join(errs...)
}
