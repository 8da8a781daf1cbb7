package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/node-agent/internal/replay"
)

// serveReplay serves files until ctx ends.
func serveReplay(ctx context.Context, c config.Replay, log *slog.Logger) error {
	files, err := replay.Load(c.Path, c.AllowInvalid, log)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, []string{c.Listen})
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: replay.Handler(files), ReadHeaderTimeout: 10 * time.Second}
	log.Info("Replaying", "files", len(files), "address", listeners[0].Addr().String())
	stopped := make(chan error, 1)
	go func() { stopped <- hs.Serve(listeners[0]) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve %s: %w", c.Listen, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = hs.Shutdown(grace)
	if serr := <-stopped; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve %s: %w", c.Listen, serr))
	}
	return err
}
