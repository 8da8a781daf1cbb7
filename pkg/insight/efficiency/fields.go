package efficiency

import "github.com/warpwatch/warpwatch/pkg/insight"

// The metrics of devices that are looked at.
const (
	smActive       = "gpu_sm_active_ratio"
	graphicsActive = "gpu_graphics_engine_active_ratio"
	utilization    = "gpu_utilization_ratio"
	memoryUsed     = "gpu_memory_used_bytes"
	memoryTotal    = "gpu_memory_total_bytes"
	memoryFree     = "gpu_memory_free_bytes"
	memoryReserved = "gpu_memory_reserved_bytes"
	energyTotal    = "gpu_energy_joules_total"
	power          = "gpu_power_watts"
	tensorActive   = "gpu_tensor_active_ratio"
	smClock        = "gpu_sm_clock_hertz"
	smClockMax     = "gpu_sm_clock_max_hertz"
	processes      = "gpu_processes"
	recovery       = "gpu_recovery_action"
	temperature    = "gpu_temperature_celsius"
)

// Fields are what of devices is looked at, in the order of use. Any may be missing: activity is taken from the first of its
// three, memory is used + free + reserved where there is no total, energy comes from its counter, else from power.
func Fields() []insight.Field {
	return []insight.Field{
		{Metric: smActive}, {Metric: graphicsActive}, {Metric: utilization},
		{Metric: energyTotal, Of: insight.Rise}, {Metric: energyTotal}, {Metric: power},
		{Metric: memoryUsed}, {Metric: memoryTotal}, {Metric: memoryFree}, {Metric: memoryReserved},
		{Metric: tensorActive}, {Metric: smClock}, {Metric: smClockMax},
		{Metric: processes, Of: insight.Max}, {Metric: recovery, Of: insight.Max}, {Metric: temperature},
	}
}

// The metrics of workloads that are looked at.
const (
	trainTokens     = "train_tokens_per_second"
	trainFlops      = "train_gpu_flops_per_second"
	trainTokenFlops = "train_model_flops_per_token"
	trainParameters = "train_model_parameters"
	trainMFU        = "train_mfu_ratio"
	serveTokens     = "serve_generation_tokens_total"
	serveTokensNow  = "serve_generation_tokens_per_second"
	serveFlops      = "serve_gpu_flops_total"
)

// WorkloadFields are what of workloads is looked at.
func WorkloadFields() []insight.Field {
	names := []string{trainTokens, trainFlops, trainTokenFlops, trainParameters, trainMFU, serveTokens, serveTokensNow, serveFlops}
	fields := make([]insight.Field, len(names))
	for i, name := range names {
		fields[i] = insight.Field{Metric: name}
	}
	return fields
}

// columns are a grid's columns by field, each nil where nobody has it.
type columns struct {
	sm, graphics, utilization          [][]float64
	rise, rate, power                  [][]float64
	used, total, free, reserved        [][]float64
	tensor, clock, clockMax            [][]float64
	processes, processesMean, recovery [][]float64
	board, instance                    [][][]float64 // all that prove that a board, or an instance, was there
}

func columnsOf(g *insight.Devices) *columns {
	at := func(name string, of insight.Of) [][]float64 { return g.Column(insight.Field{Metric: name, Of: of}) }
	c := &columns{
		sm: at(smActive, ""), graphics: at(graphicsActive, ""), utilization: at(utilization, ""),
		rise: at(energyTotal, insight.Rise), rate: at(energyTotal, ""), power: at(power, ""),
		used: at(memoryUsed, ""), total: at(memoryTotal, ""), free: at(memoryFree, ""), reserved: at(memoryReserved, ""),
		tensor: at(tensorActive, ""), clock: at(smClock, ""), clockMax: at(smClockMax, ""),
		processes: at(processes, insight.Max), processesMean: at(processes, ""), recovery: at(recovery, insight.Max),
	}
	if c.recovery == nil {
		c.recovery = at(recovery, "")
	}
	for _, column := range [][][]float64{c.sm, c.graphics, c.used, c.free, c.total, c.tensor, c.processes, c.processesMean} {
		if column != nil {
			c.instance = append(c.instance, column)
		}
	}
	c.board = append(c.board, c.instance...)
	for _, column := range [][][]float64{c.utilization, c.power, c.rate, c.rise, c.clock, c.recovery, at(temperature, ""), at(temperature, insight.Max)} {
		if column != nil {
			c.board = append(c.board, column)
		}
	}
	return c
}

// row is a subject's values in a column, nil for none.
func row(column [][]float64, subject int) []float64 {
	if column == nil || subject < 0 {
		return nil
	}
	return column[subject]
}
