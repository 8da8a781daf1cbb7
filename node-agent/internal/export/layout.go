// Package export writes what the agent knows as Prometheus text. It reads snapshots only: a scrape never reaches the
// driver, and costs the same whatever the number of GPUs that hang.
package export

import (
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// layout is everything about a schema's text but the values, prepared once.
type layout struct {
	schema   *snapshot.Schema
	families []family
	labels   []string // of each device
	byPart   map[place]int
	end      []byte // of the lines that are being written
	sampled  []byte // header of the groups' times
	groups   [device.NumGroups][]byte
}

// place names a device within the node. What an owner does not know is "".
type place struct{ uuid, gpuInstance, computeInstance string }

// family is a metric with its series.
type family struct {
	group   device.Group
	header  []byte
	series  []series
	windows []windowFamily
}

type series struct {
	column int
	prefix []byte // name and labels, up to the blank before the value
}

// windowFamily is one figure of what a metric went through.
type windowFamily struct {
	shows  figure
	header []byte
	series []windowSeries
}

type windowSeries struct {
	fold   int
	prefix []byte
}

// figure says what is shown of a fold.
type figure uint8

const (
	leastOf figure = iota
	meanOf
	greatestOf
	bitsOf
)

func newLayout(s *snapshot.Schema, w *snapshot.Window) *layout {
	l := &layout{schema: s, labels: deviceLabels(s.Devices), byPart: map[place]int{}}
	for i, d := range s.Devices {
		l.byPart[place{d.UUID, d.GPUInstance, d.ComputeInstance}] = i
		if first := (place{d.UUID, d.GPUInstance, ""}); d.IsMIG() {
			if _, ok := l.byPart[first]; !ok {
				l.byPart[first] = i
			}
		}
	}
	folds := map[int]int{} // by column
	if w != nil {
		for i, column := range w.Columns() {
			folds[column] = i
		}
	}
	// Columns come device by device, text goes metric by metric.
	byMetric := map[string]int{}
	for i, c := range s.Columns {
		at, ok := byMetric[c.Row.Name]
		if !ok {
			at = len(l.families)
			byMetric[c.Row.Name] = at
			l.families = append(l.families, family{group: c.Metric.Group(), header: header(c.Row.Name, c.Row.Help, string(c.Row.Kind))})
		}
		of := &l.families[at]
		labels := l.labels[c.Device]
		if name, value := c.Metric.Label(); name != "" {
			labels += label(name, value)
		}
		of.series = append(of.series, series{column: i, prefix: []byte(c.Row.Name + "{" + labels + "} ")})
		if fold, ok := folds[i]; ok {
			of.addWindow(c, fold, labels)
		}
	}
	return l
}

// addWindow gives a column's window its series.
func (f *family) addWindow(c snapshot.Column, fold int, labels string) {
	shown := windowsOf(c.Metric, c.Row)
	if f.windows == nil {
		f.windows = make([]windowFamily, len(shown))
	}
	for i, w := range shown {
		if f.windows[i].header == nil {
			f.windows[i].shows, f.windows[i].header = w.shows, header(w.name, w.help, "gauge")
		}
		f.windows[i].series = append(f.windows[i].series, windowSeries{fold: fold, prefix: []byte(w.name + "{" + labels + "} ")})
	}
}

// find is the device that something belongs to: a compute instance, or else its GPU instance, or else the board.
func (l *layout) find(uuid, gpuInstance, computeInstance string) (int, bool) {
	for _, p := range []place{{uuid, gpuInstance, computeInstance}, {uuid, gpuInstance, ""}} {
		if i, ok := l.byPart[p]; ok {
			return i, true
		}
	}
	return 0, false
}

// board are the labels of a board.
func (l *layout) board(d gpu.Device) string {
	if i, ok := l.byPart[place{uuid: d.UUID}]; ok {
		return l.labels[i]
	}
	return labels(d)
}

// deviceLabels are the labels of every series of each device. Two compute instances of one GPU instance may have the same
// profile, and are told apart by one more.
func deviceLabels(devices []gpu.Device) []string {
	all := make([]string, len(devices))
	count := map[string]int{}
	for i, d := range devices {
		all[i] = labels(d)
		count[all[i]]++
	}
	for i, d := range devices {
		if count[all[i]] > 1 {
			all[i] += label("compute_instance_id", d.ComputeInstance)
		}
	}
	return all
}

// labels are the labels of every series of a device.
func labels(d gpu.Device) string {
	var b strings.Builder
	if d.Cluster != "" {
		b.WriteString(label("cluster", d.Cluster))
	}
	b.WriteString(label("node", d.Node) + label("gpu", strconv.Itoa(d.Index)) + label("gpu_uuid", d.UUID) + label("model", d.Model))
	if d.IsMIG() {
		b.WriteString(label("mig_id", d.GPUInstance) + label("mig_profile", d.MIGProfile))
	}
	return b.String()[1:]
}

// nodeLabels are the labels of a series of the node as a whole.
func nodeLabels(n snapshot.Node) string {
	text := label("node", n.Name)
	if n.Cluster != "" {
		text = label("cluster", n.Cluster) + text
	}
	return text[1:]
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
var escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// label is a label with the comma before it. Text that is not UTF-8 would make the whole answer unreadable.
func label(name, value string) string {
	return "," + name + `="` + escapeLabel.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// known is a label, or nothing when there is nothing to say.
func known(name, value string) string {
	if value == "" {
		return ""
	}
	return label(name, value)
}

func header(name, help, kind string) []byte {
	return []byte("# HELP " + name + " " + escapeHelp.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

// window is a metric that shows a window of another.
type window struct {
	name, help string
	shows      figure
}

// windowsOf are the metrics that show a metric's window. Their names have the word before the unit.
func windowsOf(m device.Metric, row catalog.Metric) []window {
	stem, unit := row.Name, ""
	if suffix := "_" + string(row.Unit); strings.HasSuffix(row.Name, suffix) {
		stem, unit = strings.TrimSuffix(row.Name, suffix), suffix
	}
	least := window{stem + "_window_min" + unit, "The least " + row.Name + " in the window.", leastOf}
	mean := window{stem + "_window_mean" + unit, "The mean " + row.Name + " over the window.", meanOf}
	greatest := window{stem + "_window_max" + unit, "The greatest " + row.Name + " in the window.", greatestOf}
	switch snapshot.FoldingOf(m, row) {
	case snapshot.FoldLevels:
		return []window{least, mean, greatest}
	case snapshot.FoldMax:
		return []window{greatest}
	case snapshot.FoldBits:
		return []window{{stem + "_window" + unit, "Every bit of " + row.Name + " that was set in the window.", bitsOf}}
	case snapshot.FoldNothing:
	}
	return nil
}
