package otlpexport

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// producer answers OpenTelemetry's reader with the newest frame. It measures nothing itself.
type producer struct {
	store *snapshot.Store
	node  snapshot.Node
	now   func() time.Time
	start time.Time

	mu     sync.Mutex
	layout *layout
}

// Produce implements metric.Producer.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	f := p.store.Newest()
	if f == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.layout == nil || p.layout.schema != f.Schema {
		p.layout = newLayout(f.Schema)
	}
	now := p.now()
	fresh := !f.Stale(now)
	var metrics []metricdata.Metrics
	if fresh {
		metrics = p.layout.readings(f)
	}
	if f.Status != nil {
		metrics = append(metrics, p.status(f, now, fresh)...)
	}
	if len(metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{
		Scope:   instrumentation.Scope{Name: "github.com/warpwatch/warpwatch/node-agent", Version: p.node.Version, SchemaURL: semconv.SchemaURL},
		Metrics: metrics,
	}}, nil
}

// status is how each GPU is, and which XID errors it had.
func (p *producer) status(f *snapshot.Frame, now time.Time, fresh bool) []metricdata.Metrics {
	var states, xids []metricdata.DataPoint[float64]
	for _, b := range f.Status.Boards {
		device := deviceAttributes(b.Device)
		if is, known := p.stateOf(b, f, fresh); known {
			for _, state := range []attribute.KeyValue{semconv.HwStateOk, semconv.HwStateDegraded, semconv.HwStateFailed} {
				point := metricdata.DataPoint[float64]{Attributes: with(device, semconv.HwTypeGpu, state), StartTime: p.start, Time: now}
				if state == is {
					point.Value = 1
				}
				states = append(states, point)
			}
		}
		for _, x := range b.XIDs {
			xids = append(xids, metricdata.DataPoint[float64]{
				Attributes: with(device, attribute.String("hw.gpu.xid", strconv.FormatUint(x.Code, 10))),
				StartTime:  p.start, Time: now, Value: float64(x.Count),
			})
		}
	}
	var metrics []metricdata.Metrics
	if len(states) > 0 {
		metrics = append(metrics, instrument{
			name: "hw.status", unit: "1", shape: upDownCounter, description: "Operational status: 1 (true) or 0 (false) for each of the possible states.",
		}.with(states))
	}
	if len(xids) > 0 {
		metrics = append(metrics, instrument{
			name: "hw.gpu.xid.errors", unit: "{error}", shape: counter, description: "XID errors that the driver reported since the agent started.",
		}.with(xids))
	}
	return metrics
}

// stateOf is the convention's word for how a board is. It is not known for a board that the agent may not ask.
func (p *producer) stateOf(b snapshot.Board, f *snapshot.Frame, fresh bool) (attribute.KeyValue, bool) {
	switch b.Condition.State {
	case snapshot.StateLost, snapshot.StateHung, snapshot.StateFailed:
		return semconv.HwStateFailed, true
	case snapshot.StateOK:
	default:
		return attribute.KeyValue{}, false
	}
	if !fresh {
		return attribute.KeyValue{}, false
	}
	for i, d := range f.Schema.Devices {
		if d.UUID != b.Device.UUID || d.IsMIG() || p.layout.recovery[i] < 0 {
			continue
		}
		if r := f.Readings[p.layout.recovery[i]]; r.OK() && r.Value != 0 {
			return semconv.HwStateDegraded, true // NVIDIA says that something must be done
		}
	}
	return semconv.HwStateOk, true
}

func with(device []attribute.KeyValue, more ...attribute.KeyValue) attribute.Set {
	all := make([]attribute.KeyValue, 0, len(device)+len(more))
	return attribute.NewSet(append(append(all, device...), more...)...)
}
