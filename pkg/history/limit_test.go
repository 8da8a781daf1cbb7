package history

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// The answers to a panel's queries come at the same time: each may be fine alone, and all of them too much.
func TestAnswersAreTooLargeTogether(t *testing.T) {
	reading := &budget{size: 20}
	limit := int64(15)
	open := func() *limitedBody {
		return &limitedBody{Reader: strings.NewReader("0123456789"), reading: reading, left: limit}
	}
	first, second, third := open(), open(), open()
	for _, body := range []io.Reader{first, second} {
		if got, err := io.ReadAll(body); err != nil || len(got) != 10 {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	_, err := io.ReadAll(third)
	if !errors.Is(err, errCrowded) {
		t.Errorf("the third: got %v, want %v", err, errCrowded)
	}
	e := &endpoint{Endpoint: Endpoint{ID: "north-a"}}
	text := e.transportError(t.Context(), err).Error()
	if want := "north-a: the answers that are being read are too large together; narrow the time range"; !strings.HasPrefix(text, want) {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for _, body := range []*limitedBody{first, second, third, third} {
		body.done()
	}
	if used := reading.used.Load(); used != 0 {
		t.Errorf("%d bytes are still counted after all were closed", used)
	}
	if got, err := io.ReadAll(open()); err != nil || len(got) != 10 {
		t.Errorf("afterwards: got %q, %v", got, err)
	}
	limit = 9
	if _, err := io.ReadAll(open()); !errors.Is(err, errLarge) {
		t.Errorf("larger than the limit: got %v", err)
	}
}
