package dashboards

// withoutRedfish is why nothing is known of the cooling.
const withoutRedfish = "Not exported: let an agent read the BMC or the coolant distribution unit (redfish in its configuration)"

func cooling(title, expr, legend, unit string, help Help, changes ...change) Panel {
	help.SMI = "none; the BMC has it: `ipmitool sdr type Temperature`, or its Redfish service"
	return chart(title, help, []Query{promql(expr).legend(legend)}, append([]change{in(unit), otherwise(withoutRedfish)}, changes...)...)
}

func inlets() Panel {
	return cooling("Air at the inlet", "topk(10, max by (equipment, instance) (inlet_temperature_celsius))", "{{cluster}} {{equipment}}", "celsius", Help{
		Shows:   "the temperature of the air that the warmest ten chassis take in.",
		Matters: "because it is the room's part of every GPU's temperature.",
		Do:      "above 32 °C call the data centre; one rack alone has a hole in its containment.",
	}, rising(32, 35), drawn)
}

func coolant() Panel {
	p := cooling("Coolant, supply and return", "max by (equipment) (coolant_supply_temperature_celsius)", "{{cluster}} {{equipment}} supply", "celsius", Help{
		Shows:   "the temperature of the coolant that comes to and goes from each coolant distribution unit.",
		Matters: "because the difference times the flow is the heat that is taken away; a cold plate that clogs shows here first.",
		Do:      "return above 50 °C or a supply that rises: call the data centre. Flow falling at the same heat: filter or pump.",
	})
	p.Queries = append(p.Queries, promql("max by (equipment) (coolant_return_temperature_celsius)").legend("{{cluster}} {{equipment}} return"))
	return p
}

func coolantFlow() Panel {
	return cooling("Flow of the coolant", "sum by (equipment) (coolant_flow_liters_per_minute)", "{{cluster}} {{equipment}}", "suffix: l/min", Help{
		Shows:   "how much coolant flows through each coolant distribution unit.",
		Matters: "because without flow a cold plate boils within seconds, before any temperature is read.",
		Do:      "falling: pump or filter. Zero: stop the work on its racks now.",
	}, positive)
}

func leaks() Panel {
	return cooling("Leaks", "max by (equipment, sensor) (coolant_leak_detected)", "{{cluster}} {{equipment}} {{sensor}}", "none", Help{
		Shows:   "1 where a detector reports a leak.",
		Matters: "because water beside 700 W boards ends them, and the racks below.",
		Do:      "any: call the data centre, and shut the rack down as its procedure says.",
	}, between(0, 1), rounded(0), rising(0.5, 0.5), drawn)
}
