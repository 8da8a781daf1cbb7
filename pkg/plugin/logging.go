package plugin

import (
	"context"
	"log/slog"

	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
)

// slogger lets packages that know only the standard library write to Grafana's log.
func slogger(to log.Logger) *slog.Logger { return slog.New(&logHandler{to: to}) }

type logHandler struct {
	to     log.Logger
	prefix string
}

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	args := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, h.pair(a)...)
		return true
	})
	switch {
	case r.Level >= slog.LevelError:
		h.to.Error(r.Message, args...)
	case r.Level >= slog.LevelWarn:
		h.to.Warn(r.Message, args...)
	case r.Level >= slog.LevelInfo:
		h.to.Info(r.Message, args...)
	default:
		h.to.Debug(r.Message, args...)
	}
	return nil
}

func (h *logHandler) pair(a slog.Attr) []any {
	return []any{h.prefix + a.Key, a.Value.Resolve().String()}
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = append(args, h.pair(a)...)
	}
	return &logHandler{to: h.to.With(args...), prefix: h.prefix}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{to: h.to, prefix: h.prefix + name + "."}
}
