package topology

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// quantity is something that is read of a board: the mean of the newest values of the first metric that there is.
type quantity struct {
	fields []insight.Field
	most   float64 // larger and negative values are sentinels
}

func metrics(most float64, names ...string) quantity {
	q := quantity{most: most}
	for _, name := range names {
		q.fields = append(q.fields, insight.Field{Metric: name})
	}
	return q
}

const (
	mostBytes = 1e13 // a second
	mostLinks = 64
	mostCode  = 16
)

// What is read of boards. Rates of counters are bytes per second, too.
func activity() quantity {
	return metrics(1.1, "gpu_sm_active_ratio", "gpu_graphics_engine_active_ratio", "gpu_utilization_ratio")
}
func generation() quantity    { return metrics(10, "gpu_pcie_link_generation") }
func generationMax() quantity { return metrics(10, "gpu_pcie_link_generation_max") }
func width() quantity         { return metrics(32, "gpu_pcie_link_width") }
func widthMax() quantity      { return metrics(32, "gpu_pcie_link_width_max") }
func pcieReceive() quantity {
	return metrics(mostBytes, "gpu_pcie_receive_bytes_per_second", "gpu_pcie_receive_bytes_total")
}

func pcieTransmit() quantity {
	return metrics(mostBytes, "gpu_pcie_transmit_bytes_per_second", "gpu_pcie_transmit_bytes_total")
}
func links() quantity { return metrics(mostLinks, "gpu_nvlink_links") }
func linksActive() quantity {
	return metrics(mostLinks, "gpu_nvlink_links_active", "gpu_nvlink_link_active")
}
func nvlinkReceive() quantity {
	return metrics(mostBytes, "gpu_nvlink_receive_bytes_per_second", "gpu_nvlink_receive_bytes_total")
}

func nvlinkTransmit() quantity {
	return metrics(mostBytes, "gpu_nvlink_transmit_bytes_per_second", "gpu_nvlink_transmit_bytes_total")
}
func nvlinkBoth() quantity   { return metrics(mostBytes, "gpu_nvlink_throughput_bytes_per_second") }
func fabricState() quantity  { return metrics(mostCode, "gpu_fabric_state") }
func fabricStatus() quantity { return metrics(math.MaxUint32, "gpu_fabric_status") }
func c2cLinks() quantity     { return metrics(mostLinks, "gpu_c2c_links") }
func c2cActive() quantity    { return metrics(mostLinks, "gpu_c2c_links_active") }
func c2cMost() quantity      { return metrics(mostBytes, "gpu_c2c_max_bytes_per_second") }
func migMode() quantity      { return metrics(mostCode, "gpu_mig_mode") }

func errorRises() quantity {
	q := quantity{most: 1e12}
	for _, name := range []string{"gpu_nvlink_replay_errors_total", "gpu_nvlink_recovery_errors_total", "gpu_nvlink_crc_errors_total"} {
		q.fields = append(q.fields, insight.Field{Metric: name, Of: insight.Rise})
	}
	return q
}

// Fields are what Draw reads of devices, what comes first used first.
func Fields() []insight.Field {
	var fields []insight.Field
	for _, q := range []quantity{
		activity(), generation(), generationMax(), width(), widthMax(), pcieReceive(), pcieTransmit(), links(), linksActive(), nvlinkReceive(),
		nvlinkTransmit(), nvlinkBoth(), fabricState(), fabricStatus(), errorRises(), c2cLinks(), c2cActive(), c2cMost(), migMode(),
	} {
		fields = append(fields, q.fields...)
	}
	return fields
}

// reader reads a board's values of now.
type reader struct {
	grid  *insight.Devices
	steps int // of the grid that are now
}

func readerOf(grid *insight.Devices, minutes float64) reader {
	steps := 1
	if grid.Step > 0 {
		steps = max(1, int(math.Ceil(minutes*float64(time.Minute)/float64(grid.Step))))
	}
	return reader{grid, steps}
}

// tail are the newest values of the first metric that was measured, those that cannot be taken out as NaN.
func (r reader) tail(subject int, q quantity) []float64 {
	for _, f := range q.fields {
		values := r.grid.Values(f, subject)
		if values == nil {
			continue
		}
		values = values[max(0, len(values)-r.steps):]
		kept := make([]float64, len(values))
		some := false
		for i, v := range values {
			if kept[i] = v; !(v >= 0 && v <= q.most) {
				kept[i] = math.NaN()
			} else {
				some = true
			}
		}
		if some {
			return kept
		}
	}
	return nil
}

// mean is the mean of now, NaN when nothing was measured.
func (r reader) mean(subject int, q quantity) float64 {
	sum, n := 0.0, 0
	for _, v := range r.tail(subject, q) {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// last is the newest value, NaN when nothing was measured.
func (r reader) last(subject int, q quantity) float64 {
	values := r.tail(subject, q)
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return values[i]
		}
	}
	return math.NaN()
}

// sum adds what all metrics of a quantity rose by, NaN when none was measured.
func (r reader) sum(subject int, q quantity) float64 {
	total := math.NaN()
	for _, f := range q.fields {
		for _, v := range r.tail(subject, quantity{fields: []insight.Field{f}, most: q.most}) {
			switch {
			case math.IsNaN(v):
			case math.IsNaN(total):
				total = v
			default:
				total += v
			}
		}
	}
	return total
}
