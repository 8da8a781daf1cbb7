package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browser is a client that speaks centrifuge's JSON protocol.
type browser struct {
	t    *testing.T
	conn *websocket.Conn
	rest []string
}

// message is either the answer to a command or a push.
type message struct {
	ID    int `json:"id"`
	Error *struct {
		Code uint32 `json:"code"`
	} `json:"error"`
	Subscribe *struct {
		Data json.RawMessage `json:"data"`
	} `json:"subscribe"`
	Push *struct {
		Channel string `json:"channel"`
		Pub     *struct {
			Data struct {
				N    int             `json:"n"`
				Data json.RawMessage `json:"data"`
			} `json:"data"`
		} `json:"pub"`
	} `json:"push"`
}

func connect(t *testing.T, h *host) *browser {
	t.Helper()
	server := httptest.NewServer(h.handler())
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/api/live/ws", nil)
	require.NoError(t, err)
	b := &browser{t: t, conn: conn}
	t.Cleanup(func() { _ = conn.CloseNow() })
	b.send(`{"id":1,"connect":{}}`)
	b.wait(func(m message) bool { return m.ID == 1 })
	return b
}

func (b *browser) send(command string) {
	b.t.Helper()
	require.NoError(b.t, b.conn.Write(b.t.Context(), websocket.MessageText, []byte(command)))
}

// wait reads until a message fits; several messages may come in one WebSocket frame, one a line.
func (b *browser) wait(fits func(message) bool) message {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	for {
		for len(b.rest) > 0 {
			var m message
			require.NoError(b.t, json.Unmarshal([]byte(b.rest[0]), &m))
			b.rest = b.rest[1:]
			if fits(m) {
				return m
			}
		}
		_, raw, err := b.conn.Read(ctx)
		require.NoError(b.t, err)
		b.rest = strings.Split(strings.TrimSpace(string(raw)), "\n")
	}
}

func (b *browser) waitValue(channel string, n int) {
	b.t.Helper()
	b.wait(func(m message) bool {
		return m.Push != nil && m.Push.Channel == channel && m.Push.Pub != nil && m.Push.Pub.Data.N == n
	})
}

func running(h *host) int {
	h.live.streams.mu.Lock()
	defer h.live.streams.mu.Unlock()
	return len(h.live.streams.running)
}

func TestLiveStreamsToSubscribersAndStopsAfterTheLast(t *testing.T) {
	h := startHost(t)
	first, second := connect(t, h), connect(t, h)

	first.send(`{"id":2,"subscribe":{"channel":"1/ds/gpu/q/abc","data":{"metric":"power"}}}`)
	answer := first.wait(func(m message) bool { return m.ID == 2 })
	require.Nil(t, answer.Error)
	assert.JSONEq(t, `{"schema":{"fields":[]},"echo":{"metric":"power"}}`, string(answer.Subscribe.Data))
	packet := first.wait(func(m message) bool { return m.Push != nil && m.Push.Pub != nil })
	assert.JSONEq(t, `{"metric":"power"}`, string(packet.Push.Pub.Data.Data))

	second.send(`{"id":2,"subscribe":{"channel":"1/ds/gpu/q/abc","data":{"metric":"power"}}}`)
	second.wait(func(m message) bool { return m.Push != nil && m.Push.Pub != nil && m.Push.Pub.Data.N > 1 })
	assert.Equal(t, 1, running(h), "two browsers share one stream")

	first.send(`{"id":3,"unsubscribe":{"channel":"1/ds/gpu/q/abc"}}`)
	first.wait(func(m message) bool { return m.ID == 3 })
	second.wait(func(m message) bool { return m.Push != nil && m.Push.Pub != nil && m.Push.Pub.Data.N > 5 })
	require.NoError(t, second.conn.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return running(h) == 0 }, 5*time.Second, 10*time.Millisecond, "the stream ends after the last subscriber")

	first.send(`{"id":4,"subscribe":{"channel":"1/ds/gpu/q/abc","data":{}}}`)
	first.waitValue("1/ds/gpu/q/abc", 2)
}

func TestLiveStartsABrokenStreamAgain(t *testing.T) {
	h := startHost(t)
	b := connect(t, h)

	b.send(`{"id":2,"subscribe":{"channel":"ds/gpu/breaks","data":{}}}`)

	b.waitValue("ds/gpu/breaks", 2)
	b.waitValue("ds/gpu/breaks", 2)
	b.waitValue("ds/gpu/breaks", 2)
}

func TestLiveRefuses(t *testing.T) {
	h := startHost(t)
	b := connect(t, h)
	for channel, code := range map[string]uint32{
		"1/ds/gpu/missing":                     404,
		"1/ds/gpu/secret":                      403,
		"1/ds/unknown/q/abc":                   404,
		"1/plugin/gpu/q":                       404,
		"1/ds/gpu/a:b":                         404,
		"1/ds/gpu/" + strings.Repeat("x", 160): 404,
	} {
		b.send(`{"id":9,"subscribe":{"channel":"` + channel + `","data":{}}}`)
		answer := b.wait(func(m message) bool { return m.ID == 9 })
		require.NotNil(t, answer.Error, channel)
		assert.Equal(t, code, answer.Error.Code, channel)
	}
	assert.Zero(t, running(h))
}
