package history

import (
	"bytes"
	"strings"
)

// spot is a label of the series before, at its place in the text: most series of an answer have the same names in the same
// order, and many of the same values.
type spot struct {
	key    []byte // `"name":"`, as it stands in the text
	name   string
	raw    []byte // the value's text in the body; nil when it is not known
	value  string
	misses int // how many values in a row had not been seen before
}

// mostMisses is after how many new values in a row a label's are taken to be different in each series, like UUIDs, and no longer
// remembered.
const mostMisses = 4096

// metric reads a label set into the common room for labels.
func (d *decoder) metric() (labelSet, error) {
	if d.null() {
		return labelSet{}, nil
	}
	if cap(d.labels)-len(d.labels) < 32 {
		d.labels = make([]label, 0, 1024)
	}
	start := len(d.labels)
	if d.cards != nil {
		if c, end := d.cards.likely(d.buf, d.pos); c != nil {
			d.pos, d.card = end, c
			return labelSet{shared: c, own: d.cards.own}, nil
		}
		d.peek()
	}
	text := d.pos
	if d.sameNames() {
		return d.shared(text, start), nil
	}
	d.labels = d.labels[:start]
	err := d.object(func(key []byte) error {
		name, ok := d.names[string(key)]
		if !ok {
			name = string(key)
			d.names[name] = name
		}
		value, err := d.text()
		if err != nil {
			return err
		}
		for i := start; i < len(d.labels); i++ {
			if d.labels[i].Name == name {
				d.labels[i].Value = value
				return nil
			}
		}
		d.labels = append(d.labels, label{name, value})
		return nil
	})
	d.learn(d.labels[start:])
	return d.shared(text, start), err
}

// shared is the labels that were read last, from a text that begins at a place, in the file where they can be.
func (d *decoder) shared(text, start int) labelSet {
	labels := d.labels[start:len(d.labels):len(d.labels)]
	if d.cards != nil {
		if c := d.cards.take(d.card, d.buf[text:d.pos], labels); c != nil {
			d.card = c
			d.labels = d.labels[:start]
			return labelSet{shared: c, own: d.cards.own}
		}
	}
	return labelSet{own: labels}
}

// learn makes the spots of a label set. There are none when a name is not written as it is.
func (d *decoder) learn(labels []label) {
	for i, l := range labels {
		if strings.ContainsFunc(l.Name, func(c rune) bool { return c == '"' || c == '\\' || c < ' ' }) {
			d.spots = d.spots[:0]
			return
		}
		if i == len(d.spots) {
			d.spots = append(d.spots, spot{})
		}
		s := &d.spots[i]
		s.key = append(append(append(s.key[:0], '"'), l.Name...), `":"`...)
		if s.name != l.Name {
			s.name, s.misses = l.Name, 0
		}
		s.raw = nil
	}
	d.spots = d.spots[:len(labels)]
}

// sameNames reads a label set that has the names of the one before in the same order, without white space and without anything
// that must be unescaped. Where it is another one it reports false and has consumed nothing.
func (d *decoder) sameNames() bool {
	buf, pos := d.buf, d.pos
	if len(d.spots) == 0 || pos >= len(buf) || buf[pos] != '{' {
		return false
	}
	pos++
	last := len(d.spots) - 1
	for i := range d.spots {
		s := &d.spots[i]
		if !bytes.HasPrefix(buf[pos:], s.key) {
			return false
		}
		pos += len(s.key)
		if n := len(s.raw); s.raw != nil && pos+n < len(buf) && buf[pos+n] == '"' && bytes.Equal(buf[pos:pos+n], s.raw) {
			pos += n + 1
		} else {
			end := plainEnd(buf, pos)
			if end < 0 {
				return false
			}
			s.raw = buf[pos:end:end]
			d.remember(s)
			pos = end + 1
		}
		d.labels = append(d.labels, label{s.name, s.value})
		after := byte(',')
		if i == last {
			after = '}'
		}
		if pos >= len(buf) || buf[pos] != after {
			return false
		}
		pos++
	}
	d.pos = pos
	return true
}

// plainEnd is where a text that means itself ends, at its quote; -1 when it does not, or holds something else.
func plainEnd(buf []byte, pos int) int {
	for ; pos < len(buf); pos++ {
		switch c := buf[pos]; {
		case c == '"':
			return pos
		case c == '\\' || c < ' ' || c >= 0x80:
			return -1
		}
	}
	return -1
}

// remember makes the value of a spot's text, once for all series where it is one that comes again.
func (d *decoder) remember(s *spot) {
	if s.misses >= mostMisses {
		s.value = string(s.raw)
		return
	}
	known, ok := d.interned[string(s.raw)]
	if ok {
		s.value, s.misses = known, 0
		return
	}
	s.value = string(s.raw)
	s.misses++
	d.interned[s.value] = s.value
}
