package live

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

// newFanInServer serves the stream of agents that all measure the same.
func newFanInServer(f *fanInAgents) *http.Server {
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		ctx := context.Background()
		if _, _, err := conn.Read(ctx); err != nil {
			return
		}
		_ = f.play(conn.CloseRead(ctx).Done(), func(m *wire.Message) error {
			raw, err := proto.Marshal(m)
			if err != nil {
				return err
			}
			return conn.Write(ctx, websocket.MessageBinary, raw)
		})
	})}
}
