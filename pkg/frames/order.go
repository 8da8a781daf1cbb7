package frames

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Limits on what one answer may hold. A browser stays responsive with them; more is not read by anyone.
const (
	MaxSeries = 1000
	MaxCells  = 4_000_000 // rows times columns of one frame
	MaxRows   = 20_000    // of a table of samples
	MaxLatest = 200_000   // of a table with a row for each device
)

// maxSortLabels is how many labels decide the order of series. Nobody looks for an order by more.
const maxSortLabels = 32

// Sort puts series into the one order that all answers and streams use: devices by cluster, node and index, as people
// count them, others by their labels.
// It changes the order of the slice and not what it holds.
func Sort(series []gpu.Series) {
	names := orderedLabels(series)
	if len(names) > maxSortLabels {
		names = names[:maxSortLabels]
	}
	texts := make([]string, len(names)*len(series)) // a row for each series
	order := make([]int, len(series))
	for i, s := range series {
		order[i] = i
		for j, name := range names {
			texts[i*len(names)+j] = s.Labels[name]
		}
	}
	row := func(i int) []string { return texts[i*len(names) : (i+1)*len(names)] }
	compare := func(a, b int) int {
		if c := compareDevices(series[a].Device, series[b].Device); c != 0 {
			return c
		}
		return slices.Compare(row(a), row(b))
	}
	if slices.IsSortedFunc(order, compare) {
		return
	}
	slices.SortStableFunc(order, compare)
	sorted := make([]gpu.Series, len(series))
	for i, from := range order {
		sorted[i] = series[from]
	}
	copy(series, sorted)
}

// orderedLabels are the names of all labels there are: the metric's name, then as tables show them.
func orderedLabels(series []gpu.Series) []string {
	present := map[string]string{}
	for _, s := range series {
		for name := range s.Labels {
			if _, known := present[name]; !known {
				present[name] = ""
			}
		}
	}
	return ordered(present)
}

// ordered are names of labels: the metric's name, then as tables show them.
func ordered(present map[string]string) []string {
	names := sortedLabels(present)
	if at := slices.Index(names, metricName); at >= 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, metricName)
	}
	return names
}

// compareDevices orders by index before UUID: UUIDs are random.
func compareDevices(a, b gpu.Device) int {
	if c := strings.Compare(a.Cluster, b.Cluster); c != 0 {
		return c
	}
	if c := strings.Compare(a.Node, b.Node); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Index, b.Index); c != 0 {
		return c
	}
	return a.Compare(b.Identity)
}

// Limit keeps the first series that one answer may hold, and says so when some are left out.
func Limit(series []gpu.Series) ([]gpu.Series, []gpu.Notice) {
	rows := 1
	for _, s := range series {
		rows = max(rows, len(s.Times))
	}
	keep := min(len(series), MaxSeries, max(1, MaxCells/rows))
	if keep == len(series) {
		return series, nil
	}
	return series[:keep:keep], []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d series: narrow the query by cluster, node, GPU or model, or aggregate it.", keep, len(series))}}
}

// LimitCells keeps the first series that a frame has room for, however many they are, and says so when some are left out.
func LimitCells(series []gpu.Series) ([]gpu.Series, []gpu.Notice) {
	rows := 1
	for _, s := range series {
		rows = max(rows, len(s.Times))
	}
	keep := min(len(series), max(1, MaxCells/rows))
	if keep == len(series) {
		return series, nil
	}
	return series[:keep:keep], []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d series: more than %d values are not sent to a browser. Narrow the query, or give it a larger minimum step.", keep, len(series), MaxCells)}}
}

// Silent says which series hold no finite number at all, so that an empty line in the legend explains itself.
func Silent(series []gpu.Series, naming Naming) []gpu.Notice {
	var silent silence
	for _, s := range series {
		if len(s.Values) > 0 && !slices.ContainsFunc(s.Values, finite) {
			silent.add(func() gpu.Series { return s }, naming)
		}
	}
	return silent.notices(len(series))
}

// silence is the series that hold no finite number: how many, and the names of the first.
type silence struct {
	count int
	names []string
}

func (s *silence) add(series func() gpu.Series, naming Naming) {
	const shown = 3
	if s.count++; s.count > shown {
		return
	}
	name := naming.display(series())
	if name == "" {
		name = "one without labels"
	}
	s.names = append(s.names, name)
}

func (s *silence) notices(of int) []gpu.Notice {
	if s.count == 0 {
		return nil
	}
	text := strings.Join(s.names, "; ")
	if more := s.count - len(s.names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
		"%d of %d series hold no number in this range (NaN or infinite): %s.", s.count, of, text)}}
}
