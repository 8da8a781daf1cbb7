package frames

import (
	"maps"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Sheet makes a table of rows of any kind: a column for each call, in their order.
type Sheet[R any] struct{ columns columns[R] }

// SheetOf is a table of rows without columns.
func SheetOf[R any](rows []R) *Sheet[R] { return &Sheet[R]{columns[R]{rows: rows}} }

// Device adds the columns that all tables name a device by.
func (t *Sheet[R]) Device(of func(R) gpu.Device) { t.columns.device(of) }

// Owners adds the columns that name the workloads of a device.
func (t *Sheet[R]) Owners(of func(R) []gpu.Owner) { ownerColumns(&t.columns, of) }

// Text adds a column of texts, "" where there is none.
func (t *Sheet[R]) Text(name string, of func(R) string) *Column {
	return &Column{t.columns.text(name, of)}
}

// Number adds a column of numbers, null where the reading is absent or not finite.
func (t *Sheet[R]) Number(name string, unit gpu.Unit, description string, of func(R) gpu.Reading) *Column {
	return &Column{t.columns.number(name, unit, description, of)}
}

// Code adds a column of whole numbers that are never shortened to thousands, null for 0.
func (t *Sheet[R]) Code(name string, of func(R) uint64) *Column {
	return &Column{t.columns.code(name, of)}
}

// At adds a column of times, null for the zero time, that are shown to the second.
func (t *Sheet[R]) At(name string, of func(R) time.Time) *Column {
	field := t.columns.at(name, of)
	// Without a unit Grafana shows milliseconds where the rows are of one minute.
	field.Config = &data.FieldConfig{Unit: "dateTimeAsIso"}
	return &Column{field}
}

// Table is a frame of type table with the columns.
func (t *Sheet[R]) Table(name string, o Options) *data.Frame { return Table(name, t.columns.fields, o) }

// Numbers is the frame that alert rules and expressions read: columns of text, and one of numbers, with a row where the number is
// known. It has no fields when there are no rows.
func (t *Sheet[R]) Numbers(name string, o Options) *data.Frame {
	return numbers(name, t.columns.fields, o)
}

// Column is a column of a Sheet, to be dressed.
type Column struct{ field *data.Field }

func (c *Column) config() *data.FieldConfig {
	if c.field.Config == nil {
		c.field.Config = &data.FieldConfig{}
	}
	return c.field.Config
}

// Coloured gives texts of the column colours, by names that Grafana knows. Others keep the panel's.
func (c *Column) Coloured(of map[string]string) *Column {
	colours(c.field, of)
	return c
}

// Linked makes links of the column's cells. In the address ${__value.raw} stands for the cell and ${__data.fields.name} for
// another one of the row.
func (c *Column) Linked(title, address string) *Column {
	c.config().Links = append(c.config().Links, data.DataLink{Title: title, URL: address})
	return c
}

// Decimals fixes how many decimals numbers of the column are shown with.
func (c *Column) Decimals(n uint16) *Column {
	c.config().SetDecimals(n)
	return c
}

// ShownEmpty is what is shown for an empty text, which stays empty for whoever reads the frame.
func (c *Column) ShownEmpty(as string) *Column {
	config := c.config()
	config.Mappings = append(config.Mappings, data.SpecialValueMapper{Match: data.SpecialValueEmpty, Result: data.ValueMappingResult{Text: as}})
	return c
}

// Described gives the column a tooltip.
func (c *Column) Described(text string) *Column {
	c.config().Description = text
	return c
}

// Hidden keeps the column out of tables; links and transformations still have it.
func (c *Column) Hidden() *Column {
	config := c.config()
	if config.Custom == nil {
		config.Custom = map[string]any{}
	}
	config.Custom["hidden"] = true
	return c
}

// StateLine is what one device was in at each of some times; "" where that is not known.
type StateLine struct {
	Device gpu.Device
	// Name and Labels are those of the line, in place of the device's, where it is of something else.
	Name   string
	Labels map[string]string
	States []string
}

// named is the labels of the line, and how people see it.
func (l StateLine) named(n Naming) (data.Labels, string) {
	if l.Name != "" {
		return l.Labels, l.Name
	}
	labels := data.Labels{}
	for _, label := range deviceLabels() {
		if text := deviceText(label)(l.Device); text != "" {
			labels[label] = text
		}
	}
	display := l.Device.Name()
	if n.Clusters && l.Device.Cluster != "" {
		display = l.Device.Cluster + " · " + display
	}
	return labels, display
}

// States is a frame for a panel of the kind state timeline: a column of texts for each device, null where the state is not
// known. Colours and texts of the states are mapped for all of them. Times are Unix milliseconds.
func States(name string, times []int64, lines []StateLine, shown map[string]State, o Options) *data.Frame {
	fields := make(data.Fields, 0, len(lines)+1)
	fields = append(fields, o.timeField(times))
	mapper := data.ValueMapper{}
	for i, state := range slices.Sorted(maps.Keys(shown)) {
		mapper[state] = data.ValueMappingResult{Text: shown[state].Text, Color: shown[state].Colour, Index: i}
	}
	// Each text once in memory, however many steps have it.
	known := map[string]*string{}
	for _, line := range lines {
		cells := make([]*string, len(times))
		for i, state := range line.States {
			if state == "" || i >= len(cells) {
				continue
			}
			cell, ok := known[state]
			if !ok {
				cell = &state
				known[state] = cell
			}
			cells[i] = cell
		}
		labels, display := line.named(o.Naming)
		field := data.NewField(name, labels, cells)
		field.Config = &data.FieldConfig{DisplayNameFromDS: display, Description: o.Description, Mappings: data.ValueMappings{mapper}}
		fields = append(fields, field)
	}
	frame := Table(name, fields, o)
	frame.Meta.PreferredVisualization = ""
	return frame
}

// State is how a state is shown.
type State struct{ Text, Colour string }
