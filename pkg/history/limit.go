package history

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

var (
	// errLarge ends an answer that is larger than the limit.
	errLarge = errors.New("the answer is too large")
	// errCrowded ends an answer that is too large together with those that are read at the same time.
	errCrowded = errors.New("the answers are too large together")
)

// Sizes of the pieces that answers are read in: one small one first, because most answers fit.
const (
	firstPiece = 32 << 10
	piece      = 1 << 20
)

// largestRefusal is how much is read of an answer that is none: it holds a message at most.
const largestRefusal = 1 << 20

// budget bounds the bytes of all answers of a History that are being read: a panel's queries go to all servers at once,
// and a server that never stops sending must not take all memory. It also keeps the pieces for the answers to come.
type budget struct {
	size int64
	used atomic.Int64

	firsts, pieces sync.Pool
}

func (b *budget) piece(size int) *[]byte {
	pool := &b.pieces
	if size == firstPiece {
		pool = &b.firsts
	}
	if known, ok := pool.Get().(*[]byte); ok {
		return known
	}
	fresh := make([]byte, size)
	return &fresh
}

func (b *budget) giveBack(p *[]byte) {
	switch len(*p) {
	case firstPiece:
		b.firsts.Put(p)
	case piece:
		b.pieces.Put(p)
	}
}

// body is an answer's whole text. It is not to be used after release.
type body struct {
	text    []byte
	reading *budget
	first   *[]byte // that text lies in; nil when it has memory of its own
}

// release lets the memory be used for another answer.
func (b *body) release() {
	if b.first != nil {
		b.reading.giveBack(b.first)
	}
	b.text, b.first = nil, nil
}

// own is the text in memory of its own, and the end of the body.
func (b *body) own() []byte {
	text := b.text
	if b.first != nil {
		text = append([]byte(nil), text...)
	}
	b.release()
	return text
}

// read takes in a whole answer. While it grows it is held in pieces, so that an answer that never ends costs what the
// limit says and not a multiple, as a buffer that doubles would.
func (b *budget) read(from io.Reader) (body, error) {
	pieces := []*[]byte{b.piece(firstPiece)}
	giveBack := func() {
		for _, p := range pieces {
			b.giveBack(p)
		}
	}
	whole, filled := 0, 0 // bytes in the pieces before the last, and in the last
	for {
		last := *pieces[len(pieces)-1]
		n, err := from.Read(last[filled:])
		filled += n
		switch {
		case err == io.EOF && len(pieces) == 1:
			return body{text: last[:filled], reading: b, first: pieces[0]}, nil
		case err == io.EOF:
			text := make([]byte, 0, whole+filled)
			for _, p := range pieces[:len(pieces)-1] {
				text = append(text, *p...)
			}
			text = append(text, last[:filled]...)
			giveBack()
			return body{text: text, reading: b}, nil
		case err != nil:
			giveBack()
			return body{}, err
		case filled == len(last):
			whole, filled = whole+filled, 0
			pieces = append(pieces, b.piece(piece))
		}
	}
}

// unpacked is the text of an answer whose server compressed it though it was not asked to: what a transport asks for it
// unpacks itself.
func unpacked(resp *http.Response) (io.Reader, error) {
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(resp.Body)
	default:
		return nil, fmt.Errorf("%w %q", errEncoding, clean(encoding))
	}
}

// errEncoding is an answer that nobody can unpack.
var errEncoding = errors.New("the answer is encoded with")

// limitedBody is an answer that ends with errLarge when it is larger than the limit, and with errCrowded when the budget
// is used up.
type limitedBody struct {
	io.Reader
	reading *budget
	left    int64
	taken   int64 // from the budget
	failed  error // why it could not be read to its end
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = 0, errLarge
	}
	b.taken += int64(n)
	if b.reading.used.Add(int64(n)) > b.reading.size && b.left >= 0 {
		n, err = 0, errCrowded
	}
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}

// done takes the answer out of the budget.
func (b *limitedBody) done() {
	b.reading.used.Add(-b.taken)
	b.taken = 0
}
