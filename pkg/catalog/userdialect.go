package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Dialects are what a user says of exporters that the catalogue does not know; see ParseDialects and Catalog.With.
type Dialects []userDialect

type userDialect struct {
	name   string
	labels map[string][]string // by role
	owner  object
	series []userSeries
}

// userSeries is a series, and what it holds.
type userSeries struct {
	name, metric, unit string
	at                 string // where the metric is said, behind the series
	only               map[string][]string
}

// Limits on what a user may say.
const (
	maxDialectsJSON   = 256 << 10
	maxUserDialects   = 20
	maxUserSeries     = 200 // of one dialect
	maxUserLabels     = 10  // of one role
	maxUserConditions = 5   // of one series
	longestUserName   = 200
	maxProblems       = 10 // that one error tells
)

var (
	validDialect = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
	dialectKeys  = []string{"name", "labels", "series"}
	labelRoles   = []string{"node", "uuid", "index", "model", "mig_id", "mig_profile", "mig_uuid", "pci_bus_id", "driver", "job", "rank"}
	ownerKeys    = []string{"pod", "namespace", "container"}
	seriesKeys   = []string{"metric", "unit", "only"}
)

// ParseDialects reads the dialects of a user's settings, a list of objects:
//
//	[{"name": "acme",
//	  "labels": {"uuid": ["card"], "node": ["machine"], "owner": {"pod": "workload", "namespace": "team"}},
//	  "series": {"acme_power": "gpu_power_watts",
//	             "acme_busy": {"metric": "gpu_utilization_ratio", "unit": "percent", "only": {"engine": ["compute"]}}}}]
//
// Errors name what is wrong by its place, one a line. Whether metrics, units and series are right is seen by Catalog.With.
// Nothing and null are no dialects.
func ParseDialects(text []byte) (Dialects, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || string(trimmed) == "null" {
		return nil, nil
	}
	if len(text) > maxDialectsJSON {
		return nil, fmt.Errorf("dialects: %d bytes are more than %d", len(text), maxDialectsJSON)
	}
	tree, err := parseTree(text)
	if err != nil {
		return nil, err
	}
	p := &problems{}
	list, ok := tree.([]any)
	switch {
	case !ok:
		p.add("dialects", "must be a list of objects, not %s", kindOf(tree))
	case len(list) > maxUserDialects:
		p.add("dialects", "%d dialects are more than %d", len(list), maxUserDialects)
		list = nil
	}
	var dialects Dialects
	for i, value := range list {
		path := fmt.Sprintf("dialects[%d]", i)
		if o := p.object(path, value, dialectKeys); o.values != nil {
			dialects = append(dialects, p.dialect(path, o))
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return dialects, nil
}

// problems collects what is wrong.
type problems struct {
	list []error
	more int
}

func (p *problems) add(path, format string, args ...any) {
	if p.full() {
		p.more++
		return
	}
	p.list = append(p.list, errors.New(path+": "+fmt.Sprintf(format, args...)))
}

// full reports whether what else is wrong will only be counted.
func (p *problems) full() bool { return len(p.list) == maxProblems }

func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(slices.Clone(p.list), fmt.Errorf("dialects: and %d more", p.more))...)
	}
	return errors.Join(p.list...)
}

// object is a value that must be an object with none but some keys; all are allowed when keys is nil.
func (p *problems) object(path string, value any, keys []string) object {
	o, ok := value.(object)
	if !ok {
		p.add(path, "must be an object, not %s", kindOf(value))
		return object{}
	}
	for _, key := range o.keys {
		if keys != nil && !slices.Contains(keys, key) {
			p.add(keyPath(path, key), "is not known%s; the keys are %s", meant(key, keys), strings.Join(keys, ", "))
		}
	}
	return o
}

// meant suggests what a misspelt word should be.
func meant(word string, known []string) string {
	best, distance := "", len(word)/2+1
	for _, one := range known {
		if d := editDistance(strings.ToLower(word[:min(len(word), longestShown)]), one); d < distance {
			best, distance = one, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

func (p *problems) text(path string, value any) string {
	text, ok := value.(string)
	switch {
	case !ok:
		p.add(path, "must be a text, not %s", kindOf(value))
	case text == "":
		p.add(path, "must not be empty")
	case len(text) > longestUserName:
		p.add(path, "%d bytes are more than %d", len(text), longestUserName)
		return ""
	}
	return text
}

// texts is a list of texts, or one.
func (p *problems) texts(path string, value any, most int) []string {
	if _, one := value.(string); one {
		return []string{p.text(path, value)}
	}
	list, ok := value.([]any)
	if !ok {
		p.add(path, "must be a list of texts, not %s", kindOf(value))
		return nil
	}
	if len(list) == 0 || len(list) > most {
		p.add(path, "must have 1 to %d entries, not %d", most, len(list))
		return nil
	}
	texts := make([]string, len(list))
	for i, value := range list {
		texts[i] = p.text(fmt.Sprintf("%s[%d]", path, i), value)
	}
	return texts
}

func (p *problems) dialect(path string, o object) userDialect {
	d := userDialect{labels: map[string][]string{}}
	switch name, given := o.values["name"]; {
	case !given:
		p.add(path+".name", "must be given")
	default:
		d.name = p.text(path+".name", name)
		if d.name != "" && !validDialect.MatchString(d.name) {
			p.add(path+".name", "%s is not a lower-case word of at most 31 letters, digits and _", shown(d.name))
		}
	}
	if labels, given := o.values["labels"]; given {
		p.labels(path+".labels", labels, &d)
	}
	series, given := o.values["series"]
	if !given {
		p.add(path+".series", "must be given")
		return d
	}
	all := p.object(path+".series", series, nil)
	if all.values == nil {
		return d
	}
	if n := len(all.keys); n == 0 || n > maxUserSeries {
		p.add(path+".series", "must have 1 to %d entries, not %d", maxUserSeries, n)
		return d
	}
	for _, name := range all.keys {
		d.series = append(d.series, p.series(keyPath(path+".series", name), name, all.values[name]))
	}
	return d
}

func (p *problems) labels(path string, value any, d *userDialect) {
	o := p.object(path, value, append(slices.Clone(labelRoles), "owner"))
	for _, role := range o.keys {
		switch {
		case role == "owner":
			d.owner = p.object(path+".owner", o.values[role], ownerKeys)
			for _, key := range d.owner.keys {
				p.text(keyPath(path+".owner", key), d.owner.values[key])
			}
			if _, given := d.owner.values["pod"]; !given && d.owner.values != nil {
				p.add(path+".owner.pod", "must be given")
			}
		case slices.Contains(labelRoles, role):
			d.labels[role] = p.texts(keyPath(path, role), o.values[role], maxUserLabels)
		}
	}
}

func (p *problems) series(path, name string, value any) userSeries {
	s := userSeries{name: name}
	p.text(path, name)
	if metric, short := value.(string); short {
		s.metric = p.text(path, metric)
		return s
	}
	if _, ok := value.(object); !ok {
		p.add(path, "must be the name of a metric, or an object, not %s", kindOf(value))
		return s
	}
	o := p.object(path, value, seriesKeys)
	s.at = ".metric"
	if metric, given := o.values["metric"]; given {
		s.metric = p.text(path+".metric", metric)
	} else {
		p.add(path+".metric", "must be given")
	}
	if unit, given := o.values["unit"]; given {
		s.unit = p.text(path+".unit", unit)
	}
	if only, given := o.values["only"]; given {
		conditions := p.object(path+".only", only, nil)
		if n := len(conditions.keys); conditions.values != nil && (n == 0 || n > maxUserConditions) {
			p.add(path+".only", "must have 1 to %d entries, not %d", maxUserConditions, n)
			return s
		}
		s.only = map[string][]string{}
		for _, label := range conditions.keys {
			s.only[label] = p.texts(keyPath(path+".only", label), conditions.values[label], maxUserLabels)
		}
	}
	return s
}
