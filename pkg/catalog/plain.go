package catalog

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Plain is what most samples are: neither gaps nor sentinels nor garbage, and no ratio above 1.
type Plain struct {
	conversion Conversion
	low, high  float64
}

// Plainly prepares to convert many samples of a source.
func Plainly(m Metric, conversion Conversion) Plain {
	p := Plain{conversion: conversion, high: math.MaxFloat64}
	if m.Max != 0 {
		p.high = m.Max
	}
	if m.Signed {
		p.low = -p.high
	}
	if m.ShownUnit() == gpu.Ratio {
		p.high = min(p.high, 1)
	}
	return p
}

// Convert is what [Catalog.Convert] makes of a plain sample, which it keeps; false for one that may not be plain.
func (p *Plain) Convert(raw float64) (float64, bool) {
	value := p.conversion.Apply(raw)
	// Comparisons with NaN are false.
	return value, raw < leastSentinel && raw > mostNegativeSentinel && value >= p.low && value <= p.high
}

// ConvertAll converts samples in place up to the first that may not be plain, and returns how many it converted.
func (p *Plain) ConvertAll(values []float64) int {
	if p.conversion.Multiplier != 1 || p.conversion.Divisor != 1 {
		for i, raw := range values {
			value, ok := p.Convert(raw)
			if !ok {
				return i
			}
			values[i] = value
		}
		return len(values)
	}
	low, high := max(p.low, math.Nextafter(mostNegativeSentinel, 0)), min(p.high, math.Nextafter(leastSentinel, 0))
	for i, value := range values {
		if !(value >= low && value <= high) { // NaN is not
			return i
		}
	}
	return len(values)
}
