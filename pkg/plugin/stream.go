package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
)

var _ backend.StreamHandler = (*Datasource)(nil)

// SubscribeStream lets a viewer in whose query belongs to the channel, and gives it the schema of the channel's rows:
// what has been measured is in the answer that the panel already has.
func (d *Datasource) SubscribeStream(ctx context.Context, req *backend.SubscribeStreamRequest) (*backend.SubscribeStreamResponse, error) {
	if req.PluginContext.User == nil {
		return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusPermissionDenied}, nil
	}
	s, err := d.stream(req.Path, req.Data)
	if err != nil {
		d.logger.FromContext(ctx).Debug("Subscription refused", "path", req.Path, "error", err)
		status := backend.SubscribeStreamStatusNotFound
		if errors.Is(err, errForeignChannel) {
			status = backend.SubscribeStreamStatusPermissionDenied
		}
		return &backend.SubscribeStreamResponse{Status: status}, nil
	}
	schema, refusal := d.gate.look(req.Path, userOf(req.PluginContext))
	if schema == nil {
		schema = s.feed.schema()
	}
	if refusal != "" {
		// A status has no room for a reason. The stream begins as soon as it can.
		schema = refused(schema, refusal)
	}
	schema, err = frames.Stamped(schema)
	if err != nil {
		return nil, backend.PluginError(err)
	}
	initial, err := backend.NewInitialFrame(schema, data.IncludeSchemaOnly)
	if err != nil {
		return nil, backend.PluginError(fmt.Errorf("encode the schema of %s: %w", req.Path, err))
	}
	return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusOK, InitialData: initial}, nil
}

// RunStream sends a channel's rows until its last viewer has gone. Grafana runs it once however many viewers there
// are, and again at once when it fails, so that trouble with agents never ends it. It fails only when the data source
// was changed: the next run has the new settings.
func (d *Datasource) RunStream(ctx context.Context, req *backend.RunStreamRequest, sender *backend.StreamSender) error {
	s, err := d.stream(req.Path, req.Data)
	if err != nil {
		// Nobody was let in. Ending would have Grafana try again and again.
		d.logger.FromContext(ctx).Debug("Stream refused", "path", req.Path, "error", err)
		<-ctx.Done()
		return nil
	}
	err = d.through(ctx, req, s, sender)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the last viewer has gone, and what failed meanwhile interests nobody
	}
	return err
}

// through runs a stream as soon as there is a place for it.
func (d *Datasource) through(ctx context.Context, req *backend.RunStreamRequest, s *stream, sender *backend.StreamSender) error {
	waited := false
	place, err := d.gate.enter(ctx, req.Path, userOf(req.PluginContext), func(refusal string) error {
		d.logger.FromContext(ctx).Warn("A live stream waits", "path", req.Path, "reason", refusal)
		waited = true
		return sendSchema(sender, refused(s.feed.schema(), refusal))
	})
	if err != nil {
		return err
	}
	defer d.gate.leave(req.Path, place)
	if waited {
		// Browsers keep what a schema says until the next one.
		if err := sendSchema(sender, s.feed.schema()); err != nil {
			return fmt.Errorf("send the schema of %s: %w", req.Path, err)
		}
	}
	s.told = func(schema *data.Frame) { d.gate.tell(place, schema) }
	return s.run(ctx, sender)
}

func sendSchema(sender *backend.StreamSender, schema *data.Frame) error {
	stamped, err := frames.Stamped(schema)
	if err != nil {
		return err
	}
	return sender.SendFrame(stamped, data.IncludeSchemaOnly)
}

// refused is a schema that says why there are no rows. The browser then asks for answers from time to time.
func refused(schema *data.Frame, why string) *data.Frame {
	frame := *schema
	meta := data.FrameMeta{}
	if schema.Meta != nil {
		meta = *schema.Meta
	}
	meta.Custom = map[string]any{"refused": why}
	frame.Meta = &meta
	return &frame
}

// userOf is who opened a stream.
func userOf(p backend.PluginContext) string {
	if p.User == nil {
		return ""
	}
	return p.User.Login
}

// PublishStream refuses: only the plugin writes to its channels.
func (d *Datasource) PublishStream(context.Context, *backend.PublishStreamRequest) (*backend.PublishStreamResponse, error) {
	return &backend.PublishStreamResponse{Status: backend.PublishStreamStatusPermissionDenied}, nil
}

// stream reads what came with a subscription.
func (d *Datasource) stream(path string, raw []byte) (*stream, error) {
	if d.broken != nil {
		return nil, d.broken
	}
	c, q, err := parseChannel(path, raw)
	if err != nil {
		return nil, err
	}
	f, err := d.feedOf(path, c, q)
	if err != nil {
		return nil, err
	}
	return &stream{path: path, live: d.live, now: d.now, feed: f}, nil
}
