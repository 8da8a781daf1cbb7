package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// listener is a browser's one connection to Grafana Live, in centrifuge's JSON protocol.
type listener struct {
	conn  *websocket.Conn
	tally *tally
	read  sync.WaitGroup

	next    uint32
	follows map[string]bool // channels
}

type command struct {
	ID          uint32       `json:"id"`
	Connect     *struct{}    `json:"connect,omitempty"`
	Subscribe   *subscribe   `json:"subscribe,omitempty"`
	Unsubscribe *unsubscribe `json:"unsubscribe,omitempty"`
}

type subscribe struct {
	Channel string          `json:"channel"`
	Data    json.RawMessage `json:"data,omitempty"`
}

type unsubscribe struct {
	Channel string `json:"channel"`
}

// reply is an answer to a command, something published, or, with neither, a ping.
type reply struct {
	ID    uint32 `json:"id"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Push *struct {
		Pub *json.RawMessage `json:"pub"`
	} `json:"push"`
}

func listen(ctx context.Context, url string, tally *tally) (*listener, error) {
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"/api/live/ws", nil) //nolint:bodyclose // the library closes it
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(largest)
	l := &listener{conn: conn, tally: tally, follows: map[string]bool{}}
	if err := l.send(ctx, command{Connect: &struct{}{}}); err != nil {
		_ = conn.CloseNow()
		return nil, err
	}
	l.read.Go(func() {
		if err := l.hear(ctx); err != nil {
			l.tally.fail(ctx, "read the live stream: "+err.Error())
		}
	})
	return l, nil
}

func (l *listener) close() {
	_ = l.conn.CloseNow()
	l.read.Wait()
}

func (l *listener) send(ctx context.Context, c command) error {
	l.next++
	c.ID = l.next
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return l.conn.Write(ctx, websocket.MessageText, raw)
}

// follow listens to these channels and no others.
func (l *listener) follow(ctx context.Context, wanted map[string]channel) {
	var errs []error
	for path, c := range wanted {
		name := "ds/" + datasourceUID + "/" + path
		if !l.follows[path] {
			errs = append(errs, l.send(ctx, command{Subscribe: &subscribe{Channel: name, Data: c.Data}}))
			l.follows[path] = true
			l.tally.subscribed()
		}
	}
	for path := range l.follows {
		if _, stays := wanted[path]; !stays {
			errs = append(errs, l.send(ctx, command{Unsubscribe: &unsubscribe{Channel: "ds/" + datasourceUID + "/" + path}}))
			delete(l.follows, path)
		}
	}
	if err := errors.Join(errs...); err != nil {
		l.tally.fail(ctx, "subscribe: "+err.Error())
	}
}

// hear reads until the connection ends.
func (l *listener) hear(ctx context.Context) error {
	for {
		_, message, err := l.conn.Read(ctx)
		if err != nil {
			return err
		}
		for line := range bytes.SplitSeq(message, []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			var r reply
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("what was sent is no JSON: %w", err)
			}
			switch {
			case r.Error != nil:
				l.tally.fail(ctx, fmt.Sprintf("the live server refuses: %s (%d)", r.Error.Message, r.Error.Code))
			case r.Push != nil && r.Push.Pub != nil:
				l.tally.published(len(line))
			case r.ID == 0 && r.Push == nil:
				if err := l.conn.Write(ctx, websocket.MessageText, []byte("{}")); err != nil {
					return err
				}
			}
		}
	}
}
