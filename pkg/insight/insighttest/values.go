package insighttest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxSteps bounds what a slip of the pen in a script can make: 1x1000000000.
const maxSteps = 200_000

// parseValues reads the values of a series.
func parseValues(text string) ([]float64, error) {
	var values []float64
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		var item string
		if text[0] == '(' {
			end := strings.IndexByte(text, ')')
			if end < 0 {
				return nil, fmt.Errorf("values: %q has no closing parenthesis", text)
			}
			group, err := parseValues(text[1:end])
			if err != nil {
				return nil, err
			}
			item, text, _ = strings.Cut(text[end+1:], " ")
			times, err := count(strings.TrimPrefix(item, "x"))
			if err != nil || !strings.HasPrefix(item, "x") || times*len(group) > maxSteps {
				return nil, fmt.Errorf("values: a group must be followed by x and how often it is there, not %q", item)
			}
			for range times {
				values = append(values, group...)
			}
			continue
		}
		item, text, _ = strings.Cut(text, " ")
		var err error
		if values, err = appendItem(values, item); err != nil {
			return nil, err
		}
	}
	if len(values) > maxSteps {
		return nil, fmt.Errorf("values: %d are more than %d", len(values), maxSteps)
	}
	return values, nil
}

func appendItem(values []float64, item string) ([]float64, error) {
	first, repeat, repeated := item, "", false
	if at := strings.LastIndexByte(item, 'x'); at >= 0 {
		first, repeat, repeated = item[:at], item[at+1:], true
	}
	times := 0
	if repeated {
		var err error
		if times, err = count(repeat); err != nil {
			return nil, fmt.Errorf("values: %q: %w", item, err)
		}
	}
	if first == "_" {
		for range max(times, 1) {
			values = append(values, math.NaN())
		}
		return values, nil
	}
	start, step := first, ""
	if repeated {
		if at := stepAt(first); at > 0 {
			start, step = first[:at], first[at:]
		}
	}
	v, err := number(start)
	if err != nil {
		return nil, fmt.Errorf("values: %q: %w", item, err)
	}
	by := 0.0
	if step != "" {
		if by, err = number(step); err != nil {
			return nil, fmt.Errorf("values: %q: %w", item, err)
		}
	}
	for i := range times + 1 {
		values = append(values, v+float64(i)*by)
	}
	return values, nil
}

// stepAt is where the step of "1e-3+0.5" begins: the last sign that is neither the first byte nor an exponent's.
func stepAt(text string) int {
	for i := len(text) - 1; i > 0; i-- {
		if (text[i] == '+' || text[i] == '-') && text[i-1] != 'e' && text[i-1] != 'E' {
			return i
		}
	}
	return -1
}

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxSteps {
		return 0, fmt.Errorf("%q is not a number of times up to %d", text, maxSteps)
	}
	return n, nil
}

var factors = []struct {
	suffix string
	factor float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12},
}

func number(text string) (float64, error) {
	factor := 1.0
	for _, f := range factors {
		if cut, ok := strings.CutSuffix(text, f.suffix); ok {
			text, factor = cut, f.factor
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a number; an absent value is _", text)
	}
	return v * factor, nil
}

// parseDuration reads Go's durations and those in days and weeks: "90s", "1h30m", "14d".
func parseDuration(text string) (time.Duration, error) {
	unit, long := "d", 1
	if strings.HasSuffix(text, "w") {
		unit, long = "w", 7
	}
	if cut, ok := strings.CutSuffix(text, unit); ok {
		if days, err := strconv.Atoi(cut); err == nil && days >= 0 && days <= 10_000 {
			return time.Duration(days*long) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration; write 90s, 5m, 1h30m or 14d", text)
	}
	return d, nil
}
