package history

import (
	"errors"
	"io"
)

// startKept is how much of the beginning of a text is kept for messages when it is dropped.
const startKept = 4096

// textWindow is the part of an answer that is in memory while it is read: one element of a list at least.
type textWindow struct {
	from    io.Reader
	reading *budget // that the memory is of
	size    int64   // of the whole text, if it is known; 0 if not
	room    *[]byte
	filled  int
	start   []byte // of the text, once it was dropped
	ended   bool
}

// begin is the first bytes of the text, which may be all.
func (w *textWindow) begin() []byte {
	if w.start != nil || w.room == nil {
		return w.start
	}
	return (*w.room)[:w.filled]
}

// close gives back the memory. Nothing of the text is to be used any more.
func (w *textWindow) close() {
	if w.room != nil {
		w.reading.giveBack(w.room)
	}
	w.room, w.filled = nil, 0
}

// move drops the text before a place and reads on until there is no more room. Where little can be
// dropped there is twice the room.
func (w *textWindow) move(from int) error {
	old := w.room
	rest := w.filled - from
	switch {
	case old == nil:
		w.room = w.reading.piece(firstPiece)
	case rest > len(*old)/2 && len(*old) < piece:
		w.room = w.reading.piece(piece)
	case rest > len(*old)/2:
		larger := make([]byte, 2*len(*old))
		w.room = &larger
	}
	if old != nil {
		if from > 0 && w.start == nil {
			w.start = append([]byte(nil), (*old)[:min(w.filled, startKept)]...)
		}
		copy(*w.room, (*old)[from:w.filled])
		if old != w.room {
			w.reading.giveBack(old)
		}
	}
	w.filled = rest
	for w.filled < len(*w.room) {
		n, err := w.from.Read((*w.room)[w.filled:])
		w.filled += n
		if err != nil {
			w.ended = true
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
	return nil
}

// more drops the text before a place, and reads on. What is remembered by its place in the text is forgotten.
func (d *decoder) more(from int) error {
	if d.window == nil || d.window.ended {
		return errTruncated
	}
	err := d.window.move(from)
	d.buf, d.pos = (*d.window.room)[:d.window.filled], d.pos-from
	d.dropped += from
	clear(d.texts)
	for i := range d.spots {
		d.spots[i].raw = nil
	}
	if d.rows != nil {
		d.rows.text = timeText{}
	}
	return err
}

// remaining reads all that is left of the text.
func (d *decoder) remaining() error {
	for d.window != nil && !d.window.ended {
		if err := d.more(d.pos); err != nil {
			return err
		}
	}
	return nil
}

// short reports whether an error may be because the text in memory ends too early.
func (d *decoder) short(err error) bool {
	return d.window != nil && !d.window.ended && (errors.Is(err, errTruncated) || d.pos+len("null") > len(d.buf))
}

// read reads a whole text. What comes before a long list is read again from its start when it is not all in memory, and after the
// list everything is.
func (d *decoder) read(parse func() error) error {
	for {
		err := parse()
		if err == nil || d.listed || !d.short(err) {
			return err
		}
		d.pos = 0
		if err := d.more(0); err != nil {
			return err
		}
	}
}

// elements is array for a list that may be longer than what is in memory. element may be called again for one that was not all there.
func (d *decoder) elements(element func() error) error {
	if err := d.expect('['); err != nil {
		return err
	}
	d.listed = true
	if err := d.ahead(); err != nil {
		return err
	}
	if d.accept(']') {
		return d.remaining()
	}
	for {
		if err := d.again(element); err != nil {
			return err
		}
		if err := d.ahead(); err != nil {
			return err
		}
		if d.accept(',') {
			continue
		}
		if err := d.expect(']'); err != nil {
			return err
		}
		return d.remaining()
	}
}

// ahead sees to it that what comes next is in memory.
func (d *decoder) ahead() error {
	for d.peek(); d.pos >= len(d.buf) && d.window != nil && !d.window.ended; d.peek() {
		if err := d.more(d.pos); err != nil {
			return err
		}
	}
	return nil
}

// again reads an element, from its start once more where it was not all in memory.
func (d *decoder) again(element func() error) error {
	d.peek()
	card, next := d.card, d.next()
	for {
		start := d.pos
		err := element()
		if err == nil || !d.short(err) {
			return err
		}
		d.pos = start
		if d.card = card; d.cards != nil {
			d.cards.next = next
		}
		if err := d.more(start); err != nil {
			return err
		}
	}
}

// next is the card that is likely to come, nil for none.
func (d *decoder) next() *card {
	if d.cards == nil {
		return nil
	}
	return d.cards.next
}

// left is about how many bytes of the text are to come, as far as that is known.
func (d *decoder) left() int {
	if d.window != nil && d.window.size > 0 {
		return max(int(d.window.size)-d.place(), len(d.buf)-d.pos)
	}
	return len(d.buf) - d.pos
}
