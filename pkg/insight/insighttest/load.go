package insighttest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Start is when steps start unless a script says otherwise: a Monday, at midnight.
var Start = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// Scenario is what has been loaded when an eval line is met.
type Scenario struct {
	Start, End time.Time // of the grids
	Devices    *insight.Devices
	Workloads  *insight.Workloads
	Events     []gpu.Event // in the order of the script
}

// Offset is a time as scripts write it, from the scenario's start: "12m". It takes Unix milliseconds.
func (s *Scenario) Offset(ms int64) string {
	return short(time.UnixMilli(ms).Sub(s.Start))
}

// short writes a duration without the zeros that Go adds: 1h, 12m, 1h30m.
func short(d time.Duration) string {
	if d == 0 {
		return "0m"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// loaded is a scenario while it grows.
type loaded struct {
	metrics   *catalog.Catalog
	start     time.Time
	step      time.Duration
	devices   []*device
	deviceAt  map[gpu.Identity]int
	workloads []insight.Workload
	workAt    map[insight.Workload]int
	series    []series
	taken     map[string]bool
	events    []gpu.Event
}

type series struct {
	field    insight.Field
	workload bool
	subject  int
	values   []float64
}

func newLoaded(metrics *catalog.Catalog) *loaded {
	return &loaded{metrics: metrics, deviceAt: map[gpu.Identity]int{}, workAt: map[insight.Workload]int{}, taken: map[string]bool{}}
}

// begin takes the arguments of a load line.
func (l *loaded) begin(args []string) error {
	if len(args) != 1 && (len(args) != 3 || args[1] != "from") {
		return fmt.Errorf("load: write load STEP or load STEP from TIME")
	}
	step, err := parseDuration(args[0])
	if err != nil || step < time.Millisecond {
		return fmt.Errorf("load: the step %q must be a duration of a millisecond or more", args[0])
	}
	start := Start
	if len(args) == 3 {
		if start, err = time.Parse(time.RFC3339, args[2]); err != nil {
			return fmt.Errorf("load: %q is not a time like 2026-03-02T00:00:00Z", args[2])
		}
	}
	if l.step != 0 && (l.step != step || !l.start.Equal(start)) {
		return fmt.Errorf("load: step and start differ from those before; write clear first")
	}
	l.step, l.start = step, start
	return nil
}

// line takes one line of a load block.
func (l *loaded) line(text string) error {
	if rest, is := strings.CutPrefix(text, "event "); is {
		return l.event(rest)
	}
	open := strings.IndexByte(text, '{')
	if open < 0 {
		return fmt.Errorf("load: %q has no labels; a line is metric{labels} values, {labels} or event …", text)
	}
	name := strings.TrimSpace(text[:open])
	labels, rest, err := cutLabels(text[open:])
	if err != nil {
		return err
	}
	subjects, err := expand(labels)
	if err != nil {
		return err
	}
	if name == "" {
		if strings.TrimSpace(rest) != "" {
			return fmt.Errorf("load: values %q of no metric", strings.TrimSpace(rest))
		}
		for _, labels := range subjects {
			if _, err := l.device(labels); err != nil {
				return err
			}
		}
		return nil
	}
	metric, known := l.metrics.Metric(name)
	if !known {
		return fmt.Errorf("load: the catalogue has no metric %s%s", name, hint(l.metrics.Suggest(name)))
	}
	field := insight.Field{Metric: name}
	if of, isOf := strings.CutPrefix(rest, ":"); isOf {
		of, rest, _ = strings.Cut(of, " ")
		switch field.Of = insight.Of(of); field.Of {
		case insight.Max, insight.Min, insight.Rise, insight.AnyBits, insight.Total:
		default:
			return fmt.Errorf("load: %s: %q must be max, min, rise, anybits or total", name, of)
		}
	}
	values, err := parseValues(rest)
	if err != nil {
		return fmt.Errorf("load: %s: %w", name, err)
	}
	if len(values) == 0 {
		return fmt.Errorf("load: %s has no values", name)
	}
	for _, labels := range subjects {
		s := series{field: field, workload: metric.Subject == catalog.SubjectWorkload, values: values}
		if s.workload {
			s.subject, err = l.workload(labels)
		} else {
			s.subject, err = l.device(labels)
		}
		if err != nil {
			return err
		}
		key := fmt.Sprint(s.field, s.workload, s.subject)
		if l.taken[key] {
			return fmt.Errorf("load: %s is there twice for the same subject", name)
		}
		l.taken[key] = true
		l.series = append(l.series, s)
	}
	return nil
}

func hint(suggested string) string {
	if suggested == "" {
		return ""
	}
	return "; is it " + suggested + "?"
}

func (l *loaded) device(labels []label) (int, error) {
	id, err := identityOf(labels)
	if err != nil {
		return 0, err
	}
	at, known := l.deviceAt[id]
	if !known {
		at = len(l.devices)
		d := &device{set: map[string]string{}}
		d.subject.Identity, d.subject.Index, d.subject.MIGEnabled = id, -1, id.IsMIG()
		l.devices, l.deviceAt[id] = append(l.devices, d), at
	}
	return at, l.devices[at].describe(labels)
}

func (l *loaded) workload(labels []label) (int, error) {
	w, err := workloadOf(labels)
	if err != nil {
		return 0, err
	}
	at, known := l.workAt[w]
	if !known {
		at = len(l.workloads)
		l.workloads, l.workAt[w] = append(l.workloads, w), at
	}
	return at, nil
}

// event takes what follows the word: TIME NODE DEVICE KIND [CODE] ["detail"] [{labels}].
func (l *loaded) event(text string) error {
	words, err := split(text)
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	if len(words) < 4 {
		return fmt.Errorf("event: write event TIME NODE DEVICE KIND [CODE] [\"detail\"] [{labels}]")
	}
	e := gpu.Event{Kind: words[3], Origin: "kernel", Device: gpu.Device{Index: -1}}
	from, to, span := strings.Cut(words[0], "-")
	offset, err := parseDuration(from)
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	e.Time = l.start.Add(offset)
	if span {
		if offset, err = parseDuration(to); err != nil {
			return fmt.Errorf("event: %w", err)
		}
		e.Until = l.start.Add(offset)
	}
	e.Device.Node = words[1]
	for _, w := range words[4:] {
		switch code, err := strconv.ParseUint(w, 10, 32); {
		case err == nil && e.Kind == gpu.KindXID && e.XID == 0:
			e.XID = code
		case strings.HasPrefix(w, "{"):
			if err := eventLabels(&e, w); err != nil {
				return err
			}
		case e.Detail == "":
			e.Detail = w
		default:
			return fmt.Errorf("event: %q is too much", w)
		}
	}
	if e.Kind == gpu.KindXID && e.XID == 0 {
		return fmt.Errorf("event: an xid needs its code")
	}
	if words[2] != "-" {
		parts := strings.Split(words[2], "/")
		id := gpu.Identity{Cluster: e.Device.Cluster, Node: words[1], UUID: parts[0]}
		if len(parts) > 1 {
			id.GPUInstance = parts[1]
		}
		at, known := l.deviceAt[id]
		if !known {
			return fmt.Errorf("event: no line before names a device %s of node %s", words[2], words[1])
		}
		e.Device = l.devices[at].subject.Device
	}
	l.events = append(l.events, e)
	return nil
}

func eventLabels(e *gpu.Event, text string) error {
	labels, _, err := cutLabels(text)
	if err != nil {
		return err
	}
	for _, label := range labels {
		switch label.name {
		case "cluster":
			e.Device.Cluster = label.value
		case "origin":
			e.Origin = label.value
		default:
			return fmt.Errorf("event: label %s is neither cluster nor origin", label.name)
		}
	}
	return nil
}

// maxValues bounds what one scenario holds.
const maxValues = 20_000_000

// steps is how long the longest series is.
func (l *loaded) steps() (int, error) {
	steps := 0
	for _, s := range l.series {
		steps = max(steps, len(s.values))
	}
	if steps*len(l.series) > maxValues {
		return 0, fmt.Errorf("load: %d series of %d steps are more than %d values", len(l.series), steps, maxValues)
	}
	return steps, nil
}

// scenario makes the grids. Each eval has its own, so that one cannot spoil the next.
func (l *loaded) scenario(steps int) *Scenario {
	end := l.start.Add(time.Duration(steps) * l.step)
	parents := map[gpu.Identity]bool{}
	for id := range l.deviceAt {
		if id.IsMIG() {
			parents[id.Parent()] = true
		}
	}
	devices := make([]insight.Subject, 0, len(l.devices))
	for _, d := range l.devices {
		s := d.finish()
		s.MIGEnabled = s.MIGEnabled || parents[s.Identity]
		devices = append(devices, s)
	}
	made := &Scenario{
		Start: l.start, End: end, Events: append([]gpu.Event(nil), l.events...),
		Devices:   insight.NewGrid(l.start, end, l.step, devices),
		Workloads: insight.NewGrid(l.start, end, l.step, append([]insight.Workload(nil), l.workloads...)),
	}
	for _, s := range l.series {
		values := make([]float64, steps)
		for i := range values {
			values[i] = math.NaN()
		}
		copy(values, s.values)
		if s.workload {
			made.Workloads.Set(s.field, s.subject, values)
		} else {
			made.Devices.Set(s.field, s.subject, values)
		}
	}
	return made
}
