package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Insight is what judgements are told: limits, prices and which work is of which kind.
type Insight struct {
	// Limits are the limits of each kind of judgement, as written: an object whose keys that judgement knows. What is left out
	// keeps its default.
	Limits map[string]json.RawMessage
	// Currency is what prices are in that do not say.
	Currency string
	Prices   []Price
	Energy   Energy
	Budgets  []Budget
	Classes  []ClassRule
	// Places are the labels that say where a node is.
	Places Places
	// Maintenance is what is announced here, beside Alertmanager's silences.
	Maintenance []Maintenance
}

// Price is what a GPU costs for an hour.
type Price struct {
	Model      string  // words that the model's name must have, "H100 PCIe"; "" for every model
	Cluster    string  // "" for every cluster
	PerGPUHour float64 // a MIG instance costs its part of it
	Currency   string  // "" for that of all prices
}

// Energy is what a kilowatt hour costs and emits.
type Energy struct {
	PricePerKWh    float64 // in the currency; 0 when it is not known
	CarbonKgPerKWh float64 // kilograms of CO2; 0 when it is not known
	PUE            float64 // what the data centre draws for each watt of its machines; 0 when it is not known
}

// Budget is what may be spent in a month.
type Budget struct {
	Name      string
	Month     float64
	Namespace string // whose spending counts; "" for all. A regular expression between slashes
}

// Counts reports whether what a namespace spends counts.
func (b Budget) Counts(namespace string) bool {
	re, err := betweenSlashes(b.Namespace)
	switch {
	case b.Namespace == "":
		return true
	case err == nil && re != nil:
		return re.MatchString(namespace)
	}
	return b.Namespace == namespace
}

// ClassRule says that owners that fit are of a class. An empty pattern fits all; a text between slashes is a regular
// expression that must match the whole value.
type ClassRule struct {
	Class string // "training" or "inference"

	Namespace, Pod, Job, User string

	compiled map[string]*regexp.Regexp
}

// Matches reports whether an owner fits.
func (r ClassRule) Matches(o gpu.Owner) bool {
	if !o.Known() {
		return false
	}
	for _, part := range []struct{ pattern, value string }{{r.Namespace, o.Namespace}, {r.Pod, o.Pod}, {r.Job, o.SlurmJob}, {r.User, o.User}} {
		switch re := r.compiled[part.pattern]; {
		case part.pattern == "":
		case re != nil:
			if part.value == "" || !re.MatchString(part.value) {
				return false
			}
		case part.pattern != part.value:
			return false
		}
	}
	return true
}

// The classes of work that a rule may name, and the judgements that have limits.
func classNames() []string { return []string{"training", "inference"} }

func limitNames() []string {
	return []string{"bottleneck", "health", "efficiency", "forecast", "anomaly", "stragglers", "memory", "topology"}
}

// Bounds of lists that somebody writes.
const (
	maxPrices  = 500
	maxBudgets = 100
	maxRules   = 200
	maxLimits  = 64 << 10 // bytes of the limits of one judgement
)

type storedInsight struct {
	Limits json.RawMessage `json:"limits"`

	Currency string `json:"currency"`
	Prices   []struct {
		Model      string  `json:"model"`
		Cluster    string  `json:"cluster"`
		PerGPUHour float64 `json:"perGPUHour"`
		Currency   string  `json:"currency"`
	} `json:"prices"`
	Energy struct {
		PricePerKWh    float64 `json:"pricePerKWh"`
		CarbonKgPerKWh float64 `json:"carbonKgPerKWh"`
		PUE            float64 `json:"pue"`
	} `json:"energy"`
	Budgets []struct {
		Name      string  `json:"name"`
		Month     float64 `json:"month"`
		Namespace string  `json:"namespace"`
	} `json:"budgets"`
	Classes []struct {
		Class     string `json:"class"`
		Namespace string `json:"namespace"`
		Pod       string `json:"pod"`
		Job       string `json:"job"`
		User      string `json:"user"`
	} `json:"classes"`
	Places      storedPlaces        `json:"places"`
	Maintenance []storedMaintenance `json:"maintenance"`
}

// DefaultCurrency is what prices are in when nobody says.
const DefaultCurrency = "USD"

func (in storedInsight) read(problems *[]error) Insight {
	out := Insight{
		Currency: strings.TrimSpace(in.Currency),
		Energy:   Energy(in.Energy),
	}
	if out.Currency == "" {
		out.Currency = DefaultCurrency
	}
	if raw := rawDialects(in.Limits); raw != nil {
		if err := json.Unmarshal(raw, &out.Limits); err != nil {
			*problems = append(*problems, errors.New(`insight.limits: is not an object: write {"health": {…}}`))
		}
	}
	for _, p := range in.Prices {
		out.Prices = append(out.Prices, Price{
			Model: strings.TrimSpace(p.Model), Cluster: strings.TrimSpace(p.Cluster), PerGPUHour: p.PerGPUHour, Currency: strings.TrimSpace(p.Currency),
		})
	}
	for _, b := range in.Budgets {
		out.Budgets = append(out.Budgets, Budget{Name: strings.TrimSpace(b.Name), Month: b.Month, Namespace: b.Namespace})
	}
	for i, c := range in.Classes {
		rule := ClassRule{Class: c.Class, Namespace: c.Namespace, Pod: c.Pod, Job: c.Job, User: c.User, compiled: map[string]*regexp.Regexp{}}
		for _, part := range []struct{ key, pattern string }{{"namespace", c.Namespace}, {"pod", c.Pod}, {"job", c.Job}, {"user", c.User}} {
			re, err := betweenSlashes(part.pattern)
			if err != nil {
				*problems = append(*problems, fmt.Errorf("insight.classes[%d].%s: %q is not a regular expression: %w", i, part.key, part.pattern, err))
			}
			if re != nil {
				rule.compiled[part.pattern] = re
			}
		}
		out.Classes = append(out.Classes, rule)
	}
	out.Places = in.Places.read()
	for i, m := range in.Maintenance {
		out.Maintenance = append(out.Maintenance, m.read(fmt.Sprintf("insight.maintenance[%d]", i), problems))
	}
	return out
}

// betweenSlashes is the regular expression of "/text/", nil for any other text.
func betweenSlashes(text string) (*regexp.Regexp, error) {
	if len(text) < 2 || text[0] != '/' || text[len(text)-1] != '/' {
		return nil, nil //nolint:nilnil // no expression is no error
	}
	return regexp.Compile("^(?s:" + text[1:len(text)-1] + ")$")
}

func (v *validator) insight(in Insight) {
	for _, name := range slices.Sorted(maps.Keys(in.Limits)) {
		raw := bytes.TrimSpace(in.Limits[name])
		switch {
		case !slices.Contains(limitNames(), name):
			v.add("insight.limits", "%q has no limits: write %s", name, strings.Join(limitNames(), ", "))
		case len(raw) > maxLimits:
			v.add("insight.limits."+name, "is %d bytes long: at most %d are read", len(raw), maxLimits)
		case len(raw) == 0 || raw[0] != '{':
			v.add("insight.limits."+name, "is not an object: write the limits that differ from the defaults, by their names")
		}
	}
	v.currency("insight.currency", in.Currency)
	amount := func(key string, value float64) {
		if !(value >= 0 && value <= math.MaxInt32) {
			v.add(key, "%g is not an amount: write a number from 0 on", value)
		}
	}
	v.atMost("insight.prices", len(in.Prices), maxPrices)
	for i, p := range in.Prices {
		key := fmt.Sprintf("insight.prices[%d]", i)
		amount(key+".perGPUHour", p.PerGPUHour)
		v.currency(key+".currency", p.Currency)
	}
	amount("insight.energy.pricePerKWh", in.Energy.PricePerKWh)
	amount("insight.energy.carbonKgPerKWh", in.Energy.CarbonKgPerKWh)
	if in.Energy.PUE != 0 && !(in.Energy.PUE >= 1 && in.Energy.PUE <= 10) {
		v.add("insight.energy.pue", "%g is out of range: write what the data centre draws for each watt of its machines, 1 to 10", in.Energy.PUE)
	}
	v.atMost("insight.budgets", len(in.Budgets), maxBudgets)
	for i, b := range in.Budgets {
		key := fmt.Sprintf("insight.budgets[%d]", i)
		if b.Name == "" {
			v.add(key+".name", "is empty: answers call the budget by it")
		}
		if b.Month == 0 {
			v.add(key+".month", "is not set: write what may be spent in a month")
		}
		amount(key+".month", b.Month)
		if _, err := betweenSlashes(b.Namespace); err != nil {
			v.add(key+".namespace", "%q is not a regular expression: %w", b.Namespace, err)
		}
	}
	v.atMost("insight.classes", len(in.Classes), maxRules)
	for i, c := range in.Classes {
		key := fmt.Sprintf("insight.classes[%d]", i)
		if !slices.Contains(classNames(), c.Class) {
			v.add(key+".class", "%q is not a class of work: write %s", c.Class, strings.Join(classNames(), " or "))
		}
		if c.Namespace+c.Pod+c.Job+c.User == "" {
			v.add(key, "fits everything: write a namespace, pod, job or user")
		}
	}
	v.places(in.Places)
	v.maintenance(in.Maintenance)
}

func (v *validator) currency(key, code string) {
	if len(code) > 8 {
		v.add(key, "%q is not a currency: write its code, such as EUR", code)
	}
}
