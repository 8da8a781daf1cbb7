package history

import (
	"errors"
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

// budget bounds the bytes of all answers of a History that are being read: a panel's queries go to all servers at once,
// and a server that never stops sending must not take all memory.
type budget struct {
	size int64
	used atomic.Int64
}

// limited is a transport whose answers end with errLarge when they are larger than the limit, and with errCrowded when
// the budget is used up.
type limited struct {
	http.RoundTripper
	limit   int64
	reading *budget
}

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: l.limit, reading: l.reading}
	}
	return resp, err
}

type limitedBody struct {
	io.ReadCloser
	reading *budget

	mu     sync.Mutex // a client that gives up closes while it reads
	left   int64
	taken  int64 // from the budget
	closed bool
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	if b.closed {
		return n, err
	}
	b.taken += int64(n)
	if b.reading.used.Add(int64(n)) > b.reading.size {
		return 0, errCrowded
	}
	return n, err
}

func (b *limitedBody) Close() error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		b.reading.used.Add(-b.taken)
	}
	b.mu.Unlock()
	return b.ReadCloser.Close()
}
