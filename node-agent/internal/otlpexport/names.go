package otlpexport

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// shape is how OpenTelemetry carries a metric.
type shape uint8

const (
	gauge         shape = iota
	counter             // a monotonic, cumulative sum
	upDownCounter       // a cumulative sum that may fall
)

// instrument is what a canonical metric is called in OpenTelemetry.
type instrument struct {
	name        string
	unit        string
	description string
	shape       shape
	attributes  []attribute.KeyValue // beside those of the device
}

const (
	corrected   = "corrected"
	uncorrected = "uncorrected"
)

// convention is what the conventions say about a canonical metric, for those that they name. Everything else is named by
// derive.
//
// Two look alike and are not. hw.gpu.memory.utilization is how full the memory is, so it is computed from used and total;
// gpu_memory_utilization_ratio is how busy the memory's controller is. hw.gpu.io counts bytes, so the driver's rates, which
// are gauges, cannot be it: they stay rates, under derived names.
func convention(metric string) (instrument, bool) {
	task := func(t attribute.KeyValue) instrument {
		return instrument{name: "hw.gpu.utilization", unit: "1", attributes: []attribute.KeyValue{t}}
	}
	io := func(direction attribute.KeyValue) instrument {
		return instrument{name: "hw.gpu.io", unit: "By", shape: counter, attributes: []attribute.KeyValue{direction}}
	}
	errorsOf := func(kind string) instrument {
		return instrument{name: "hw.errors", unit: "{error}", shape: counter, attributes: []attribute.KeyValue{
			semconv.HwTypeGpu, semconv.ErrorTypeKey.String(kind),
		}}
	}
	at := func(name, unit, location string) instrument {
		return instrument{name: name, unit: unit, attributes: []attribute.KeyValue{semconv.HwTypeGpu, semconv.HwSensorLocation(location)}}
	}
	limit := func(kind attribute.KeyValue) instrument {
		i := at("hw.temperature.limit", "Cel", "gpu")
		i.attributes = append(i.attributes, kind)
		return i
	}
	switch metric {
	case "gpu_utilization_ratio":
		return task(semconv.HwGpuTaskGeneral), true
	case "gpu_encoder_utilization_ratio":
		return task(semconv.HwGpuTaskEncoder), true
	case "gpu_decoder_utilization_ratio":
		return task(semconv.HwGpuTaskDecoder), true
	case "gpu_memory_total_bytes":
		return instrument{name: "hw.gpu.memory.limit", unit: "By", shape: upDownCounter}, true
	case "gpu_memory_used_bytes":
		return instrument{name: "hw.gpu.memory.usage", unit: "By", shape: upDownCounter}, true
	case "gpu_memory_utilization_ratio":
		return instrument{name: "hw.gpu.memory.controller.utilization", unit: "1"}, true
	case "gpu_pcie_transmit_bytes_total":
		return io(semconv.NetworkIODirectionTransmit), true
	case "gpu_pcie_receive_bytes_total":
		return io(semconv.NetworkIODirectionReceive), true
	case "gpu_power_watts":
		return instrument{name: "hw.power", unit: "W", attributes: []attribute.KeyValue{semconv.HwTypeGpu}}, true
	case "gpu_energy_joules_total":
		return instrument{name: "hw.energy", unit: "J", shape: counter, attributes: []attribute.KeyValue{semconv.HwTypeGpu}}, true
	case "gpu_temperature_celsius":
		return at("hw.temperature", "Cel", "gpu"), true
	case "gpu_memory_temperature_celsius":
		return at("hw.temperature", "Cel", "memory"), true
	case "gpu_temperature_slowdown_celsius":
		return limit(semconv.HwLimitTypeHighDegraded), true
	case "gpu_temperature_shutdown_celsius":
		return limit(semconv.HwLimitTypeHighCritical), true
	case "gpu_fan_speed_ratio":
		return at("hw.fan.speed_ratio", "1", "gpu"), true
	case "gpu_ecc_corrected_errors_total":
		return errorsOf(corrected), true
	case "gpu_ecc_uncorrected_errors_total":
		return errorsOf(uncorrected), true
	}
	return instrument{}, false
}

// nameOf is the instrument of a row of the catalogue.
func nameOf(row catalog.Metric) instrument {
	i, ok := convention(row.Name)
	if !ok {
		i = derive(row)
	}
	i.description = row.Help
	return i
}

// isTopic reports whether a word becomes a level of the name of their own: gpu_ecc_corrected_… is hw.gpu.ecc.corrected_….
func isTopic(word string) bool {
	return slices.Contains([]string{
		"bar1", "c2c", "clock", "dram", "ecc", "fabric", "fan", "memory", "nvlink", "pcie", "power", "sm", "temperature", "tensor", "throttle",
	}, word)
}

// derive names what the conventions do not: gpu_ becomes hw.gpu., a counter's _total and the unit at the end go (the unit
// has a field of its own), a leading topic becomes a level, the other underscores stay.
// gpu_throttle_power_seconds_total is hw.gpu.throttle.power, in s. A label of the metric is an attribute hw.gpu.<label>.
func derive(row catalog.Metric) instrument {
	i := instrument{unit: ucum(row.Unit)}
	name := strings.TrimPrefix(row.Name, "gpu_")
	if row.Kind == catalog.Counter {
		i.shape = counter
		name = strings.TrimSuffix(name, "_total")
	}
	if short := strings.TrimSuffix(name, "_"+string(row.Unit)); short != "" {
		name = short
	}
	if topic, rest, ok := strings.Cut(name, "_"); ok && isTopic(topic) {
		name = topic + "." + rest
	}
	i.name = "hw.gpu." + name
	return i
}

// ucum is the unit as OpenTelemetry writes it.
func ucum(u gpu.Unit) string {
	switch u {
	case gpu.Bytes:
		return "By"
	case gpu.BytesPerSecond:
		return "By/s"
	case gpu.Seconds:
		return "s"
	case gpu.Watts:
		return "W"
	case gpu.Joules:
		return "J"
	case gpu.Hertz:
		return "Hz"
	case gpu.Celsius:
		return "Cel"
	}
	return "1" // ratios, counts and codes
}

// deviceAttributes say which device a point is about. A MIG instance names its GPU as parent.
func deviceAttributes(d gpu.Device) []attribute.KeyValue {
	id := d.UUID
	attributes := []attribute.KeyValue{semconv.HwName(d.Name()), semconv.HwVendor("NVIDIA")}
	if d.IsMIG() {
		attributes = append(attributes, semconv.HwParent(d.UUID))
		if id = d.MIGUUID; id == "" {
			id = strings.TrimSuffix(d.UUID+"/"+d.GPUInstance+"/"+d.ComputeInstance, "/")
		}
	}
	if d.Model != "" {
		attributes = append(attributes, semconv.HwModel(d.Model))
	}
	if d.Driver != "" {
		attributes = append(attributes, semconv.HwDriverVersion(d.Driver))
	}
	return append(attributes, semconv.HwID(id))
}
