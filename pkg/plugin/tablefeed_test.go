package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// tables is what a browser receives of a stream of tables: each packet read with the schema that came with it or before.
type tables struct {
	mu  sync.Mutex
	all []tablePacket
}

type tablePacket struct {
	at    time.Time
	frame *data.Frame
}

// empty is the schema of the channel, which every viewer gets first.
func (f *fleet) emptyTable(t *testing.T, path string, raw json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
	if err != nil || response.Status != backend.SubscribeStreamStatusOK {
		t.Fatalf("got %+v, %v", response, err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(response.InitialData.Data(), &parts); err != nil {
		t.Fatal(err)
	}
	return parts
}

type tableSender struct {
	schema json.RawMessage
	into   *tables
}

func (s *tableSender) Send(sent *backend.StreamPacket) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(sent.Data, &parts); err != nil {
		return err
	}
	if parts["schema"] == nil {
		parts["schema"] = s.schema
	}
	frame := &data.Frame{}
	whole := fmt.Sprintf(`{"schema":%s,"data":%s}`, parts["schema"], parts["data"]) // in this order
	if err := json.Unmarshal([]byte(whole), frame); err != nil {
		return err
	}
	s.into.mu.Lock()
	defer s.into.mu.Unlock()
	s.into.all = append(s.into.all, tablePacket{time.Now(), frame})
	return nil
}

func (p *tables) snapshot() []tablePacket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]tablePacket(nil), p.all...)
}

// runTable runs a channel of a table until stop is called.
func (f *fleet) runTable(t *testing.T, path string, raw json.RawMessage, into *tables) (stop func() error) {
	t.Helper()
	sender := &tableSender{schema: f.emptyTable(t, path, raw)["schema"], into: into}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(sender))
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}
