package otlp

import (
	"strings"

	"github.com/prometheus/otlptranslator"
)

// naming is what a metric is called here, and what its values are multiplied by.
type naming struct {
	name   string
	factor float64
}

// unit is what a sender's unit is in base units, and the words for it at the end of names.
type unit struct {
	base   string
	factor float64
	words  []string
}

func baseUnit(u string) (unit, bool) {
	switch u {
	case "ns":
		return unit{"s", 1e-9, []string{"ns", "nanoseconds"}}, true
	case "us", "µs":
		return unit{"s", 1e-6, []string{"us", "microseconds"}}, true
	case "ms":
		return unit{"s", 1e-3, []string{"ms", "milliseconds"}}, true
	case "min":
		return unit{"s", 60, []string{"min", "minutes"}}, true
	case "h":
		return unit{"s", 3600, []string{"h", "hours"}}, true
	case "d":
		return unit{"s", 86400, []string{"d", "days"}}, true
	case "kBy", "KBy", "KB", "kB":
		return unit{"By", 1e3, []string{"kb", "kilobytes"}}, true
	case "MBy", "MB":
		return unit{"By", 1e6, []string{"mb", "megabytes"}}, true
	case "GBy", "GB":
		return unit{"By", 1e9, []string{"gb", "gigabytes"}}, true
	case "TBy", "TB":
		return unit{"By", 1e12, []string{"tb", "terabytes"}}, true
	case "KiBy", "KiB":
		return unit{"By", 1 << 10, []string{"kib", "kibibytes"}}, true
	case "MiBy", "MiB":
		return unit{"By", 1 << 20, []string{"mib", "mebibytes"}}, true
	case "GiBy", "GiB":
		return unit{"By", 1 << 30, []string{"gib", "gibibytes"}}, true
	case "TiBy", "TiB":
		return unit{"By", 1 << 40, []string{"tib", "tebibytes"}}, true
	case "mW":
		return unit{"W", 1e-3, []string{"mw", "milliwatts"}}, true
	case "kW":
		return unit{"W", 1e3, []string{"kw", "kilowatts"}}, true
	case "mJ":
		return unit{"J", 1e-3, []string{"mj", "millijoules"}}, true
	case "kJ":
		return unit{"J", 1e3, []string{"kj", "kilojoules"}}, true
	case "MHz":
		return unit{"Hz", 1e6, []string{"mhz", "megahertz"}}, true
	case "GHz":
		return unit{"Hz", 1e9, []string{"ghz", "gigahertz"}}, true
	}
	return unit{}, false
}

// canonical are the names that the dashboards know for what Megatron-Core sends. step_duration_ms is a histogram there, and
// keeps a name of its own; its mean is train_step_seconds.
func canonical(name string, kind otlptranslator.MetricType) (naming, bool) {
	const prefix = "megatron.training."
	short, is := strings.CutPrefix(name, prefix)
	if !is {
		return naming{}, false
	}
	if kind == otlptranslator.MetricTypeMonotonicCounter {
		return naming{"train_skipped_steps_total", 1}, short == "skipped_iters"
	}
	if kind != otlptranslator.MetricTypeGauge {
		return naming{}, false
	}
	switch short {
	case "loss", "grad_norm", "learning_rate":
		return naming{"train_" + short, 1}, true
	case "tokens_per_sec", "throughput_tps":
		return naming{"train_tokens_per_second", 1}, true
	case "throughput_tflops":
		return naming{"train_gpu_flops_per_second", 1e12}, true
	case "memory_allocated_gb":
		return naming{"train_memory_allocated_bytes", 1e9}, true
	}
	return naming{}, false
}

const megatronStep = "megatron.training.step_duration_ms"

// named finds a metric's name and factor.
func named(name, sentUnit string, kind otlptranslator.MetricType) (naming, error) {
	if n, ok := canonical(name, kind); ok {
		return n, nil
	}
	factor, per := 1.0, ""
	main := sentUnit
	if at := strings.IndexByte(sentUnit, '/'); at >= 0 {
		main, per = sentUnit[:at], sentUnit[at:]
	}
	u, ok := baseUnit(main)
	if main == "%" && per == "" && kind == otlptranslator.MetricTypeGauge {
		u, ok = unit{"1", 0.01, []string{"percent", "pct"}}, true
	}
	if ok {
		main, factor, name = u.base, u.factor, withoutWord(name, u.words)
	}
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	built, err := namer.Build(otlptranslator.Metric{Name: name, Unit: main + per, Type: kind})
	return naming{built, factor}, err
}

// withoutWord takes a unit that no longer holds from the end of a name.
func withoutWord(name string, words []string) string {
	lower := strings.ToLower(name)
	for _, w := range words {
		for _, separator := range []string{"_", "."} {
			if rest := len(name) - len(w) - 1; rest > 0 && strings.HasSuffix(lower, separator+w) {
				return name[:rest]
			}
		}
	}
	return name
}
