package stragglers

import "github.com/warpwatch/warpwatch/pkg/insight"

// Names of metrics, as they are listed where they are missing.
const (
	smClock        = "gpu_sm_clock_hertz"
	power          = "gpu_power_watts"
	smActive       = "gpu_sm_active_ratio"
	graphicsActive = "gpu_graphics_engine_active_ratio"
	utilization    = "gpu_utilization_ratio"

	stepSeconds      = "train_step_seconds"
	exchangeSeconds  = "train_allreduce_seconds"
	dataSeconds      = "train_data_load_seconds"
	forwardSeconds   = "train_forward_seconds"
	backwardSeconds  = "train_backward_seconds"
	checkpointTime   = "train_checkpoint_seconds_total"
	steps            = "train_step_total"
	plannedBubble    = "train_pipeline_bubble_ratio"
	trainGPUs        = "train_gpus"
	mostPlausible    = 1e18
	leastPlausible   = 1e-9
	mostOfComparison = 1e6
)

// Fields are what is read of devices. Clock and power are those of the GPU: a MIG instance's are its parent's.
func Fields() []insight.Field {
	return []insight.Field{{Metric: smClock}, {Metric: power}, {Metric: smActive}, {Metric: graphicsActive}, {Metric: utilization}}
}

// WorkloadFields are what is read of ranks.
func WorkloadFields() []insight.Field {
	return []insight.Field{
		{Metric: stepSeconds}, {Metric: exchangeSeconds}, {Metric: dataSeconds}, {Metric: forwardSeconds}, {Metric: backwardSeconds},
		{Metric: checkpointTime}, {Metric: steps, Of: insight.Total}, {Metric: steps}, {Metric: plannedBubble}, {Metric: trainGPUs},
	}
}

// table is a grid's values by field, each looked up once.
type table map[insight.Field][][]float64

func tableOf[S any](grid *insight.Grid[S], fields []insight.Field) table {
	t := make(table, len(fields))
	for _, f := range fields {
		if column := grid.Column(f); column != nil {
			t[f] = column
		}
	}
	return t
}

// rows are the values of members, nil for those that do not have any; nil when none has.
func (t table) rows(field insight.Field, members []int) [][]float64 {
	column := t[field]
	if column == nil {
		return nil
	}
	var rows [][]float64
	for i, m := range members {
		if column[m] != nil && rows == nil {
			rows = make([][]float64, len(members))
		}
		if rows != nil {
			rows[i] = column[m]
		}
	}
	return rows
}

// plausible is false for what was not measured, and for what nothing here can be.
func plausible(v float64) bool { return v >= 0 && v <= mostPlausible }

// pointer is a figure, nil for what is none.
func pointer(v float64) *float64 {
	if !(v >= -mostPlausible && v <= mostPlausible) {
		return nil
	}
	return &v
}
