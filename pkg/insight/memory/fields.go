package memory

import "github.com/warpwatch/warpwatch/pkg/insight"

// Names of metrics, as they are listed where they are missing.
const (
	usedBytes      = "gpu_memory_used_bytes"
	freeBytes      = "gpu_memory_free_bytes"
	totalBytes     = "gpu_memory_total_bytes"
	reservedBytes  = "gpu_memory_reserved_bytes"
	usedRatio      = "gpu_memory_used_ratio"
	smActive       = "gpu_sm_active_ratio"
	graphicsActive = "gpu_graphics_engine_active_ratio"
	utilization    = "gpu_utilization_ratio"
	processes      = "gpu_processes"

	allocated     = "train_memory_allocated_bytes"
	held          = "train_memory_reserved_bytes"
	inactiveSplit = "train_memory_inactive_split_bytes"
	retries       = "train_alloc_retries_total"
	ooms          = "train_ooms_total"

	cacheRatio  = "serve_kv_cache_ratio"
	preemptions = "serve_preemptions_total"
	waiting     = "serve_requests_waiting"
)

// Fields are what is read of devices, what comes first used first. Of a MIG instance all of them are its own.
func Fields() []insight.Field {
	return []insight.Field{
		{Metric: usedBytes}, {Metric: usedBytes, Of: insight.Max}, {Metric: freeBytes}, {Metric: totalBytes}, {Metric: reservedBytes},
		{Metric: usedRatio}, {Metric: usedRatio, Of: insight.Max},
		{Metric: smActive}, {Metric: graphicsActive}, {Metric: utilization}, {Metric: processes},
	}
}

// WorkloadFields are what is read of ranks and servers.
func WorkloadFields() []insight.Field {
	return []insight.Field{
		{Metric: allocated}, {Metric: allocated, Of: insight.Max}, {Metric: allocated, Of: insight.Min},
		{Metric: held}, {Metric: held, Of: insight.Max}, {Metric: inactiveSplit},
		{Metric: retries, Of: insight.Rise}, {Metric: retries}, {Metric: ooms, Of: insight.Rise}, {Metric: ooms},
		{Metric: cacheRatio}, {Metric: preemptions, Of: insight.Rise}, {Metric: preemptions}, {Metric: waiting},
	}
}

// table is a grid's values by field, each looked up once.
type table[S any] map[insight.Field][][]float64

func tableOf[S any](grid *insight.Grid[S], fields []insight.Field) table[S] {
	t := make(table[S], len(fields))
	for _, f := range fields {
		if column := grid.Column(f); column != nil {
			t[f] = column
		}
	}
	return t
}

func (t table[S]) values(subject int, metric string, of insight.Of) []float64 {
	if column := t[insight.Field{Metric: metric, Of: of}]; column != nil {
		return column[subject]
	}
	return nil
}

// first is the first kind of value of a metric that there is.
func (t table[S]) first(subject int, metric string, of ...insight.Of) []float64 {
	for _, o := range of {
		if values := t.values(subject, metric, o); values != nil {
			return values
		}
	}
	return nil
}
