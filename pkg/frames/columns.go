package frames

import (
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// columns makes the fields of a table with rows of one kind.
type columns[R any] struct {
	rows   []R
	fields data.Fields
}

func (c *columns[R]) text(name string, of func(R) string) *data.Field {
	texts := make([]string, len(c.rows))
	for i, row := range c.rows {
		texts[i] = of(row)
	}
	return c.add(data.NewField(name, nil, texts))
}

// number is null where there is none.
func (c *columns[R]) number(name string, unit gpu.Unit, description string, of func(R) gpu.Reading) *data.Field {
	cells := make([]*float64, len(c.rows))
	for i, row := range c.rows {
		if r := of(row); r.OK() && finite(r.Value) {
			cells[i] = &r.Value
		}
	}
	field := data.NewField(name, nil, cells)
	field.Config = &data.FieldConfig{Unit: grafanaUnit(unit, false), Description: description}
	return c.add(field)
}

// code is a whole number that is never shortened to thousands; null for 0.
func (c *columns[R]) code(name string, of func(R) uint64) *data.Field {
	cells := make([]*int64, len(c.rows))
	for i, row := range c.rows {
		if v := int64(min(of(row), 1<<62)); v != 0 { //nolint:gosec // bounded
			cells[i] = &v
		}
	}
	field := data.NewField(name, nil, cells)
	field.Config = &data.FieldConfig{Unit: "none"}
	return c.add(field)
}

// at is a time, null where it is zero.
func (c *columns[R]) at(name string, of func(R) time.Time) *data.Field {
	cells := make([]*time.Time, len(c.rows))
	for i, row := range c.rows {
		if t := of(row).UTC(); !t.IsZero() {
			cells[i] = &t
		}
	}
	return c.add(data.NewField(name, nil, cells))
}

func (c *columns[R]) add(field *data.Field) *data.Field {
	c.fields = append(c.fields, field)
	return field
}

// device adds the columns that all tables name a device by.
func (c *columns[R]) device(of func(R) gpu.Device) {
	for _, name := range deviceLabels() {
		text := deviceText(name)
		c.text(name, func(row R) string { return text(of(row)) })
	}
}

// colours map texts of a column to colours. Others keep the panel's.
func colours(field *data.Field, of map[string]string) {
	mapper := data.ValueMapper{}
	for text, colour := range of {
		mapper[text] = data.ValueMappingResult{Text: text, Color: colour}
	}
	if field.Config == nil {
		field.Config = &data.FieldConfig{}
	}
	field.Config.Mappings = data.ValueMappings{mapper}
}

// shownNames is how many names are listed in one cell.
const shownNames = 8

// listOf joins what is not empty, each once.
func listOf[T any](all []T, of func(T) string) string {
	var texts []string
	seen := map[string]bool{}
	more := 0
	for _, one := range all {
		text := of(one)
		switch {
		case text == "" || seen[text]:
		case len(texts) == shownNames:
			more++
		default:
			seen[text] = true
			texts = append(texts, text)
		}
	}
	if more > 0 {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// CompareDevices is the order of all tables: by cluster, node and index, as people count them.
func CompareDevices(a, b gpu.Device) int { return compareDevices(a, b) }
