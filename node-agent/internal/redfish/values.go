package redfish

import (
	"slices"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
)

// quantity is what a reading measures.
type quantity uint8

const (
	inletTemperature quantity = iota
	supplyTemperature
	returnTemperature
	flow
	pressure
	pressureDifference
	heatRemoved
	leak
	numQuantities
)

// reading is one value, in the unit of its metric.
type reading struct {
	quantity
	place
	value float64
}

// place is where something is measured. Side is that of a heat exchanger: "primary" towards the building, "secondary"
// towards the computers, "" when the service does not say. Port is "supply" or "return" for a pressure.
type place struct {
	equipment, sensor, side, port string
}

func describe() [numQuantities]*prometheus.Desc {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"equipment", "sensor", "side"}, more...), nil)
	}
	return [numQuantities]*prometheus.Desc{
		inletTemperature:   desc("inlet_temperature_celsius", "Temperature of the air that the chassis takes in."),
		supplyTemperature:  desc("coolant_supply_temperature_celsius", "Temperature of the coolant that comes in."),
		returnTemperature:  desc("coolant_return_temperature_celsius", "Temperature of the coolant that goes back."),
		flow:               desc("coolant_flow_liters_per_minute", "Flow of the coolant."),
		pressure:           desc("coolant_pressure_pascals", "Pressure of the coolant.", "port"),
		pressureDifference: desc("coolant_pressure_difference_pascals", "Difference of the coolant's pressures at supply and return."),
		heatRemoved:        desc("coolant_heat_removed_watts", "Heat that the coolant takes away."),
		leak:               desc("coolant_leak_detected", "Whether a detector reports a leak: 1 when it does."),
	}
}

func (r reading) metric(desc *prometheus.Desc) prometheus.Metric {
	labels := []string{r.equipment, r.sensor, r.side}
	if r.quantity == pressure {
		labels = append(labels, r.port)
	}
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, r.value, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

const maxName = 64

// name makes an id of the service fit to be a label.
func name(candidates ...string) string {
	for _, c := range candidates {
		c = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(c[:min(len(c), maxName)], ""))
		if c = strings.TrimSpace(c); c != "" {
			return c
		}
	}
	return "unnamed"
}

// classify is what a sensor measures for cooling, in the metric's unit; false for a sensor of anything else.
func classify(s sensor) (q quantity, port string, factor float64, ok bool) {
	text := strings.ToLower(s.ID + " " + s.Name)
	liquid := strings.Contains(text, "coolant") || strings.Contains(text, "liquid") ||
		slices.Contains([]string{"LiquidInlet", "LiquidOutlet", "CoolingSubsystem", "Pump", "Reservoir", "Filter"}, s.PhysicalContext)
	switch {
	case s.PhysicalContext == "LiquidInlet", liquid && containsAny(text, "supply", "inlet"):
		port = "supply"
	case s.PhysicalContext == "LiquidOutlet", liquid && containsAny(text, "return", "outlet"):
		port = "return"
	}
	switch s.ReadingType {
	case "Temperature":
		if s.ReadingUnits != "" && s.ReadingUnits != "Cel" && s.ReadingUnits != "C" {
			return 0, "", 0, false
		}
		switch port {
		case "supply":
			return supplyTemperature, "", 1, true
		case "return":
			return returnTemperature, "", 1, true
		}
		return inletTemperature, "", 1, !liquid && isInlet(s.PhysicalContext, text)
	case "LiquidFlowLPM":
		return flow, "", 1, true
	case "LiquidFlow":
		if s.ReadingUnits == "L/min" {
			return flow, "", 1, true
		}
		return flow, "", 60, true // L/s
	case "PressurekPa":
		return pressure, port, 1000, liquid
	case "PressurePa", "Pressure":
		if s.ReadingUnits == "kPa" {
			return pressure, port, 1000, liquid
		}
		return pressure, port, 1, liquid
	}
	return 0, "", 0, false
}

// isInlet reports whether a temperature is that of the air coming in: the service says so, or says nothing and the name does.
func isInlet(context, text string) bool {
	switch context {
	case "Intake", "Room":
		return true
	case "", "Chassis", "Front", "SystemBoard":
		return containsAny(text, "inlet", "ambient", "intake")
	}
	return false
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
