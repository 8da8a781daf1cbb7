package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// errTruncated says that an answer ended in the middle.
var errTruncated = errors.New("the answer ends in the middle")

// maxDepth bounds how deep values that are skipped may be nested.
const maxDepth = 64

// scanner walks over a JSON text once. It checks what it reads and is lenient about the inside of what it skips.
type scanner struct {
	buf     []byte
	pos     int
	dropped int // bytes of the text that stood before buf
	// interned holds the texts seen so far by what stands between their quotes, so that each is allocated once.
	interned map[string]string
}

// syntax is the error for an unexpected byte, or errTruncated at the end of the text.
func (s *scanner) syntax(expected string) error {
	if s.pos >= len(s.buf) {
		return errTruncated
	}
	return fmt.Errorf("byte %d is %q where %s is expected", s.place(), s.buf[s.pos], expected)
}

// place is how many bytes of the text were read.
func (s *scanner) place() int { return s.dropped + s.pos }

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// accept skips white space and consumes c if it comes next.
func (s *scanner) accept(c byte) bool {
	if s.pos < len(s.buf) && s.buf[s.pos] == c || s.peek() == c && s.pos < len(s.buf) {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) expect(c byte) error {
	if !s.accept(c) {
		return s.syntax(string(rune(c)))
	}
	return nil
}

// raw consumes a string and returns its bytes between the quotes; escaped says that they need unescaping.
func (s *scanner) raw() (text []byte, escaped bool, err error) {
	if err := s.expect('"'); err != nil {
		return nil, false, err
	}
	start := s.pos
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; {
		case c == '"':
			text = s.buf[start:s.pos]
			s.pos++
			return text, escaped, nil
		case c == '\\':
			escaped = true
			s.pos += 2
		case c < ' ':
			return nil, false, s.syntax("text without control characters")
		default:
			s.pos++
		}
	}
	s.pos = len(s.buf)
	return nil, false, errTruncated
}

// text consumes a string and returns it, interned.
func (s *scanner) text() (string, error) {
	raw, escaped, err := s.raw()
	if err != nil {
		return "", err
	}
	if known, ok := s.interned[string(raw)]; ok {
		return known, nil
	}
	value := string(raw)
	if escaped || !utf8.ValidString(value) {
		if value, err = unescape(raw); err != nil {
			return "", err
		}
	}
	s.interned[string(raw)] = value
	return value, nil
}

// unescape leaves the rules for escapes, surrogates and broken UTF-8 to encoding/json.
func unescape(raw []byte) (value string, err error) {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	if err := json.Unmarshal(quoted, &value); err != nil {
		return "", fmt.Errorf("text %s: %w", quoted, err)
	}
	return value, nil
}

// object calls field for each key of an object; field must consume the value.
func (s *scanner) object(field func(key []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.accept('}') {
		return nil
	}
	for {
		key, escaped, err := s.raw()
		if err != nil {
			return err
		}
		if escaped || !utf8.Valid(key) {
			plain, err := unescape(key)
			if err != nil {
				return err
			}
			key = []byte(plain)
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := field(key); err != nil {
			return err
		}
		if s.accept(',') {
			continue
		}
		return s.expect('}')
	}
}

// array calls element for each element of an array; element must consume it.
func (s *scanner) array(element func() error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	if s.accept(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.accept(',') {
			continue
		}
		return s.expect(']')
	}
}

// null consumes a null if it comes next.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.buf[s.pos:], []byte("null")) {
		s.pos += len("null")
		return true
	}
	return false
}

// skip consumes any value.
func (s *scanner) skip() error { return s.skipNested(maxDepth) }

func (s *scanner) skipNested(depth int) error {
	if depth == 0 {
		return errors.New("nested too deep")
	}
	switch s.peek() {
	case '{':
		return s.object(func([]byte) error { return s.skipNested(depth - 1) })
	case '[':
		return s.array(func() error { return s.skipNested(depth - 1) })
	case '"':
		_, _, err := s.raw()
		return err
	}
	start := s.pos
	for s.pos < len(s.buf) && isLiteral(s.buf[s.pos]) {
		s.pos++
	}
	if s.pos == start {
		return s.syntax("a value")
	}
	return nil
}

// isLiteral reports whether c may be part of a number, true, false or null.
func isLiteral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '-' || c == '.'
}

// list consumes a list of strings.
func (s *scanner) list() (values []string, err error) {
	if s.null() {
		return nil, nil
	}
	err = s.array(func() error {
		value, err := s.text()
		values = append(values, value)
		return err
	})
	return values, err
}
