package plugin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/experimental/concurrent"
)

var _ backend.QueryChunkedDataHandler = (*Datasource)(nil)

// chunkCells is about how many values one chunk of an answer has.
const chunkCells = 100_000

// QueryChunkedData is QueryData for versions of Grafana that pass answers on as they come: each query's frames are sent
// as soon as it is answered, large ones in parts. What is wrong with one query is that one's error.
func (d *Datasource) QueryChunkedData(ctx context.Context, req *backend.QueryChunkedDataRequest, w backend.ChunkedDataWriter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx = withTenant(ctx, req.GetHTTPHeaders())
	static := isStatic(req.Headers)
	once := &backend.QueryDataRequest{PluginContext: req.PluginContext, Headers: req.Headers, Queries: req.Queries}
	answers, err := concurrent.QueryData(ctx, once, func(ctx context.Context, q concurrent.Query) backend.DataResponse {
		if err := d.write(ctx, q.DataQuery, static, w); err != nil {
			// Nobody reads any more, so that the other queries need not go on.
			cancel(err)
		}
		return backend.DataResponse{}
	}, concurrency(ctx))
	if err != nil {
		return err
	}
	// What panicked has an answer that was not written.
	for ref, answer := range answers.Responses {
		if answer.Error != nil {
			if err := w.WriteError(ctx, ref, backend.StatusInternal, answer.Error); err != nil {
				return fmt.Errorf("send the error of query %s: %w", ref, err)
			}
		}
	}
	return context.Cause(ctx)
}

// write answers one query. The error is that nobody takes the answer.
func (d *Datasource) write(ctx context.Context, q backend.DataQuery, static bool, w backend.ChunkedDataWriter) error {
	frames, err := d.answer(ctx, q, static)
	if err != nil {
		failed := d.failure(ctx, err)
		if err := w.WriteError(ctx, q.RefID, failed.Status, failed.Error); err != nil {
			return fmt.Errorf("send the error of query %s: %w", q.RefID, err)
		}
		return nil
	}
	for i, frame := range frames {
		for part := range parts(frame) {
			if err := w.WriteFrame(ctx, q.RefID, strconv.Itoa(i), part); err != nil {
				return fmt.Errorf("send the answer of query %s: %w", q.RefID, err)
			}
		}
	}
	return nil
}

// parts cuts a frame into runs of rows. A frame that is not large is its own only part.
func parts(frame *data.Frame) func(yield func(*data.Frame) bool) {
	rows := frame.Rows()
	size := max(1, chunkCells/max(1, len(frame.Fields)))
	return func(yield func(*data.Frame) bool) {
		if rows <= size {
			yield(frame)
			return
		}
		for start := 0; start < rows; start += size {
			if !yield(slice(frame, start, min(start+size, rows))) {
				return
			}
		}
	}
}

// slice is the rows of a frame from start up to end.
func slice(frame *data.Frame, start, end int) *data.Frame {
	part := *frame
	part.Fields = make(data.Fields, len(frame.Fields))
	for i, field := range frame.Fields {
		cut := data.NewFieldFromFieldType(field.Type(), end-start)
		cut.Name, cut.Labels, cut.Config = field.Name, field.Labels, field.Config
		for row := range end - start {
			cut.Set(row, field.At(start+row))
		}
		part.Fields[i] = cut
	}
	return &part
}
