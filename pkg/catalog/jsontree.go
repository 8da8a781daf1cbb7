package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// object is a JSON object with its keys in the order they were written.
type object struct {
	keys   []string
	values map[string]any
}

// deepestJSON is more than dialects are nested.
const deepestJSON = 8

// parseTree reads one JSON value into objects, lists and scalars. Unlike encoding/json it refuses a key that is given
// twice: the user would wonder where the first one went.
func parseTree(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	tree, err := parseValue(decoder, "dialects", 0)
	if err == nil {
		_, err = decoder.Token()
		switch {
		case err == nil:
			err = errors.New("something follows behind the end")
		case errors.Is(err, io.EOF):
			return tree, nil
		}
	}
	var twice *duplicateError
	switch {
	case errors.As(err, &twice):
		return nil, err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends too early")
	}
	line, column := place(text, decoder.InputOffset())
	return nil, fmt.Errorf("dialects: line %d, column %d: not JSON: %s", line, column, strings.TrimPrefix(err.Error(), "json: "))
}

// duplicateError is a key that is given twice.
type duplicateError struct{ path string }

func (e *duplicateError) Error() string { return e.path + ": given twice" }

func parseValue(decoder *json.Decoder, path string, depth int) (any, error) {
	if depth > deepestJSON {
		return nil, errors.New("nested too deep")
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := parseValue(decoder, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		o := object{values: map[string]any{}}
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			key, _ := token.(string)
			if _, twice := o.values[key]; twice {
				return nil, &duplicateError{keyPath(path, key)}
			}
			value, err := parseValue(decoder, keyPath(path, key), depth+1)
			if err != nil {
				return nil, err
			}
			o.keys, o.values[key] = append(o.keys, key), value
		}
		_, err = decoder.Token()
		return o, err
	}
	return token, nil
}

// longestShown is how much of a user's text is repeated in a message.
const longestShown = 60

// keyPath is where a key is: dialects[0].series["a:b"].
func keyPath(path, key string) string {
	for _, r := range key {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return fmt.Sprintf("%s[%s]", path, shown(key))
		}
	}
	if len(key) > longestShown || key == "" {
		return fmt.Sprintf("%s[%s]", path, shown(key))
	}
	return path + "." + key
}

// shown quotes a user's text, cut where it is long.
func shown(text string) string {
	if len(text) > longestShown {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:longestShown], ""))
	}
	return fmt.Sprintf("%q", text)
}

// place is the line and column of an offset, from 1.
func place(text []byte, offset int64) (line, column int) {
	before := text[:min(offset, int64(len(text)))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// kindOf says what a JSON value is, in a sentence.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	}
	return "an object"
}
