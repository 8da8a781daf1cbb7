package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// The query types that judge: each says which GPU needs somebody, why, and what to do.
const (
	TypeBottleneck = "bottleneck" // what holds each GPU back, over time and in all
	TypeHealth     = "health"     // what is wrong with each GPU, the worst first
	TypeEfficiency = "efficiency" // what became of the time of GPUs, and what it cost
	TypeForecast   = "forecast"   // what values will be, and when they reach a limit
	TypeAnomaly    = "anomaly"    // what is not as it was, or not as its peers are
	TypeMemory     = "memory"     // how much memory is left, and what becomes of it
	TypeStragglers = "stragglers" // who slows jobs down, and where else their time goes
	TypeTopology   = "topology"   // how GPUs hang together, and what still fits on those that are split
)

// maxOptions bounds the text of a query's options, in bytes.
const maxOptions = 16 << 10

// insightTypes are the query types that judge, in the order that messages list them.
func insightTypes() []string {
	return []string{TypeBottleneck, TypeHealth, TypeEfficiency, TypeForecast, TypeAnomaly, TypeMemory, TypeStragglers, TypeTopology}
}

// Judges reports whether the query asks for a judgement.
func (q Query) Judges() bool { return slices.Contains(insightTypes(), q.Type) }

// options reads what a query type takes beside the scope: an object whose keys that type knows.
func (r *reader) options(name string) json.RawMessage {
	raw, ok := r.fields[name]
	if !ok || r.err != nil || string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	if len(raw) > maxOptions {
		r.fail(name, "is %d bytes long; at most %d are accepted", len(raw), maxOptions)
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var given map[string]any
	if err := decoder.Decode(&given); err != nil {
		r.fail(name, "must be an object, like %s", `{"key": "value"}`)
		return nil
	}
	if len(given) == 0 {
		return nil
	}
	// Once more, so that keys are in one order and blanks are gone.
	text, err := json.Marshal(given)
	if err != nil {
		r.fail(name, "cannot be written again: %v", err)
	}
	return text
}

// DecodeOptions reads the query's options into a struct that has its defaults already. The error is the user's to mend: it
// names the key that is not known, or what it must be.
func (q Query) DecodeOptions(into any) error {
	if len(q.Options) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(q.Options))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return fmt.Errorf(`field "options": %s is a %s; it must be %s`, wrong.Field, wrong.Value, wordFor(wrong.Type))
	}
	if at, keys, found := unknownKey("", q.Options, reflect.TypeOf(into)); found {
		if len(keys) == 0 {
			return fmt.Errorf(`field "options": %q is not known; a query of type %s takes none`, shorten(at), q.Type)
		}
		return fmt.Errorf(`field "options": %q is not known; use %s`, shorten(at), oneOf(keys))
	}
	return fmt.Errorf(`field "options": %w`, err)
}

// unknownKey finds a key that nothing reads, with its path, and the keys that it could be.
func unknownKey(path string, raw json.RawMessage, t reflect.Type) (at string, keys []string, found bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var given map[string]json.RawMessage
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map || json.Unmarshal(raw, &given) != nil {
		return "", nil, false
	}
	for _, name := range sortedKeys(given) {
		var inner reflect.Type
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		} else if inner = fieldOf(t, name); inner == nil {
			return path + name, keysOf(t), true
		}
		if at, keys, found := unknownKey(path+name+".", given[name], inner); found {
			return at, keys, true
		}
	}
	return "", nil, false
}

// fieldOf is the type of what a key of an object is read into, nil when it is not.
func fieldOf(t reflect.Type, name string) reflect.Type {
	for _, field := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && strings.EqualFold(key, name) {
			return field.Type
		}
	}
	return nil
}

// keysOf are the keys of the object that is read into a pointer to a struct, in its order.
func keysOf(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

// wordFor is what people call what a Go type is read from.
func wordFor(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// validatedInsight checks a query that judges and forgets what such a query does not use.
func (q Query) validatedInsight() Query {
	return Query{
		RefID: q.RefID, Type: q.Type, Scope: q.Scope, Filters: q.Filters, AggregateBy: ByIdentity, Source: q.Source, MaxRows: q.MaxRows, MaxSeries: q.MaxSeries,
		Format: FormatTimeSeries, MinStep: q.MinStep, Options: q.Options,
		// The others look at hours: what the last second adds does not show.
		Live: q.Live && q.Type == TypeHealth,
	}
}

// judged adds what is special about queries that judge to a canonical form.
func (q Query) judged(doc *document) {
	doc.Source, doc.MaxRows, doc.MaxSeries, doc.Options = unless(q.Source, SourceAuto), q.MaxRows, q.MaxSeries, q.Options
	if q.Type == TypeHealth && !q.Live {
		doc.Live = new(bool)
	}
}

// WithoutInstances is the scope without what it selects by MIG instance, but on the same boards: facts of a board are not
// measured on its instances.
func (s Scope) WithoutInstances() (Scope, error) {
	if len(s.MIGs) > 0 && len(s.GPUs) == 0 {
		var boards []string
		for _, mig := range s.MIGs {
			if _, isRegex := pattern(mig); isRegex {
				boards = nil
				break
			}
			uuid := mig[:strings.LastIndexByte(mig, '/')]
			boards = append(boards, uuid)
		}
		s.GPUs = normal(boards)
	}
	s.MIGs = nil
	s.filters = slices.DeleteFunc(slices.Clone(s.filters), func(f Filter) bool {
		d, err := dimensionOf(f.Key)
		return err == nil && (d == dimMIG || d == dimMIGProfile)
	})
	return s.Compile()
}
