package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// With is the catalogue with a user's dialects, which come behind the built-in ones. It leaves the catalogue itself as it
// is. Errors name what is wrong by its place, one a line.
func (c *Catalog) With(dialects Dialects) (*Catalog, error) {
	if len(dialects) == 0 {
		return c, nil
	}
	w := c.clone()
	p := &problems{}
	for i, d := range dialects {
		path := fmt.Sprintf("dialects[%d]", i)
		if _, taken := w.rank[Dialect(d.name)]; taken {
			what := "a built-in dialect"
			if _, builtIn := c.rank[Dialect(d.name)]; !builtIn {
				what = "another of these dialects"
			}
			p.add(path+".name", "%q is the name of %s; choose another", d.name, what)
			continue
		}
		w.rank[Dialect(d.name)] = len(w.rank)
		for _, s := range d.series {
			w.learn(p, keyPath(path+".series", s.name), Dialect(d.name), s)
		}
		w.read(d)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	for i := range w.metrics {
		w.order(&w.metrics[i])
	}
	clear(w.bySeries)
	clear(w.exact)
	w.index()
	return w, nil
}

// clone copies what With changes.
func (c *Catalog) clone() *Catalog {
	w := *c
	w.metrics = slices.Clone(c.metrics)
	for i := range w.metrics {
		w.metrics[i].Sources = slices.Clone(w.metrics[i].Sources)
	}
	w.bySeries, w.exact, w.rank = maps.Clone(c.bySeries), maps.Clone(c.exact), maps.Clone(c.rank)
	l := &w.labels
	for _, list := range []*[]string{
		&l.Node, &l.UUID, &l.Index, &l.Model, &l.MIGID, &l.MIGProfile, &l.MIGUUID, &l.PCIBusID, &l.Driver, &l.Job,
		&w.workload.Node, &w.workload.Model, &w.workload.Job, &w.workload.Rank, &w.workload.Pod, &w.workload.Namespace,
		&w.identity, &w.known,
	} {
		*list = slices.Clone(*list)
	}
	l.Owner = slices.Clone(l.Owner)
	w.filters, w.owners = slices.Clone(c.filters), slices.Clone(c.owners)
	return &w
}

// learn adds one series of a user.
func (c *Catalog) learn(p *problems, path string, d Dialect, s userSeries) {
	i, ok := c.byName[s.metric]
	if !ok {
		suggestion := ""
		if !p.full() { // finding one takes a while
			if name := c.Suggest(s.metric); name != "" {
				suggestion = fmt.Sprintf(", did you mean %q?", name)
			}
		}
		p.add(path+s.at, "%s is not a metric of the catalogue%s", shown(s.metric), suggestion)
		return
	}
	m := &c.metrics[i]
	row := sourceRow{Dialect: d, Series: s.name, Unit: s.unit, Only: s.only}
	if s.unit == string(m.Unit) {
		row.Unit = ""
	}
	if _, known := c.conversion(row.Unit, m.Unit); !known {
		units := c.unitsOf(m)
		p.add(path+".unit", "%s is not a unit of %s%s; the units are %s", shown(s.unit), m.Name, meant(s.unit, units), strings.Join(units, ", "))
		return
	}
	if m.Kind == Histogram {
		row.Series = strings.TrimSuffix(s.name, "_bucket")
	}
	sources, err := c.expand(*m, row)
	if err != nil {
		p.add(path, "%s", err)
		return
	}
	for _, source := range sources {
		lower := strings.ToLower(source.Series)
		for _, other := range c.bySeries[lower] {
			if !apart(source, other) {
				p.add(path, "%s is %s of the dialect %s already; leave it out", shown(source.Series), other.Metric, other.Dialect)
				return
			}
		}
		c.bySeries[lower] = append(slices.Clone(c.bySeries[lower]), source)
	}
	m.Sources = append(m.Sources, sources...)
}

// unitsOf are the units that a source of a metric may have.
func (c *Catalog) unitsOf(m *Metric) []string {
	units := []string{string(m.Unit)}
	for _, name := range slices.Sorted(maps.Keys(c.conversions)) {
		if c.conversions[name].To == m.Unit {
			units = append(units, name)
		}
	}
	return units
}

// read takes over in which labels a dialect says what its series are of.
func (c *Catalog) read(d userDialect) {
	l := &c.labels
	for _, role := range []struct {
		name  string
		lists []*[]string
	}{
		{"node", []*[]string{&l.Node, &c.workload.Node, &c.identity}},
		{"uuid", []*[]string{&l.UUID, &c.identity}},
		{"index", []*[]string{&l.Index, &c.identity}},
		{"model", []*[]string{&l.Model, &c.workload.Model}},
		{"mig_id", []*[]string{&l.MIGID, &c.identity}},
		{"mig_profile", []*[]string{&l.MIGProfile}},
		{"mig_uuid", []*[]string{&l.MIGUUID}},
		{"pci_bus_id", []*[]string{&l.PCIBusID}},
		{"driver", []*[]string{&l.Driver}},
		{"job", []*[]string{&l.Job, &c.workload.Job}},
		{"rank", []*[]string{&c.workload.Rank}},
	} {
		for _, list := range role.lists {
			for _, label := range d.labels[role.name] {
				if !slices.Contains(*list, label) {
					*list = append(*list, label)
				}
			}
		}
	}
	if d.owner.values != nil {
		pod, _ := d.owner.values["pod"].(string)
		namespace, _ := d.owner.values["namespace"].(string)
		container, _ := d.owner.values["container"].(string)
		l.Owner = append(l.Owner, ownerLabels{Pod: pod, Namespace: namespace, Container: container})
		c.workload.Pod = append(c.workload.Pod, pod)
		c.workload.Namespace = append(c.workload.Namespace[:len(c.workload.Pod)-1:len(c.workload.Pod)-1], namespace)
		c.owners = append(c.owners, Dialect(d.name))
	}
	others := c.filters[len(c.filters)-1]
	or := func(labels, instead []string) []string {
		if len(labels) == 0 {
			return instead
		}
		return labels
	}
	names, whole := marks(d.series)
	for _, mark := range names {
		c.known = append(c.known, mark)
		c.filters = slices.Insert(c.filters, 0, Filter{
			Dialect: Dialect(d.name), Mark: mark, Whole: whole, Node: or(d.labels["node"], others.Node), UUID: or(d.labels["uuid"], others.UUID),
			Model: or(d.labels["model"], others.Model), MIGID: or(d.labels["mig_id"], others.MIGID),
		})
	}
}

// shortestMark is the least that names of one dialect must have in common to be known by it.
const shortestMark = 4

// marks are what the names of series begin with, in lower case: what all have in common, or else each whole.
func marks(series []userSeries) (names []string, whole bool) {
	names = make([]string, len(series))
	for i, s := range series {
		names[i] = strings.ToLower(s.name)
	}
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	if end := strings.LastIndexAny(common, "_:./"); end+1 >= shortestMark && !strings.HasPrefix(common, "gpu_") {
		return []string{common[:end+1]}, false
	}
	return names, true
}
