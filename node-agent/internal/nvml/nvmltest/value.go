package nvmltest

import (
	"fmt"
	"math"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"go.yaml.in/yaml/v3"
)

// Value is a number that may change with time, a text, or the code of a failure. In YAML it is a scalar, or a map:
//
//	52                                a number
//	ERROR_NOT_SUPPORTED               a failure
//	{base: 600, swing: 80, period: 7} a sine around 600
//	{base: 10, rate: 5}               a counter that grows by 5 a second
//	{base: 10, rate: 5, step: 0.03}   the same, refreshed every 30 ms
//	{list: [1, 1, 31], each: 0.01}    one after the other, every 10 ms; the last one stays
//	{like: GetPowerUsage}             what another answer is, times scale
//	{base: 1e9, integral: GetPowerUsage} what another answer adds up to in seconds, times scale
type Value struct {
	Ret  nvml.Return
	Text string

	Base     float64   `yaml:"base"`
	Rate     float64   `yaml:"rate"`
	Swing    float64   `yaml:"swing"`
	Period   float64   `yaml:"period"`
	Step     float64   `yaml:"step"`
	List     []float64 `yaml:"list"`
	Each     float64   `yaml:"each"`
	Like     string    `yaml:"like"`
	Integral string    `yaml:"integral"`
	Scale    float64   `yaml:"scale"`
	// Type is the type that a field is announced with; "garbage" in 32 bits whose other half is rubbish.
	Type string `yaml:"type"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *Value) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		type plain Value
		return n.Decode((*plain)(v))
	}
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a value is a number, a text, the name of a failure or a map", n.Line)
	}
	if code, ok := returns[n.Value]; ok {
		v.Ret = code
		return nil
	}
	if strings.HasPrefix(n.Value, "ERROR_") {
		return fmt.Errorf("line %d: NVML has no %s", n.Line, n.Value)
	}
	if n.Tag == "!!str" {
		v.Text = n.Value
		return nil
	}
	return n.Decode(&v.Base)
}

// at is the value after t seconds. find looks other answers up.
func (v *Value) at(t float64, find func(string) *Value) float64 {
	if v.Step > 0 {
		t = math.Floor(t/v.Step+1e-9) * v.Step
	}
	scale := v.Scale
	if scale == 0 {
		scale = 1
	}
	out := v.Base + v.Rate*t
	switch {
	case len(v.List) > 0:
		return v.List[min(max(int(t/v.Each+1e-9), 0), len(v.List)-1)]
	case v.Like != "":
		out += scale * find(v.Like).at(t, find)
	case v.Integral != "":
		out += scale * find(v.Integral).sum(t)
	}
	if v.Period > 0 {
		out += v.Swing * math.Sin(2*math.Pi*t/v.Period)
	}
	return out
}

// sum is the integral from 0 to t. Lists, steps and references have none.
func (v *Value) sum(t float64) float64 {
	out := v.Base*t + v.Rate*t*t/2
	if v.Period > 0 {
		out += v.Swing * v.Period / (2 * math.Pi) * (1 - math.Cos(2*math.Pi*t/v.Period))
	}
	return out
}

// Answer is what a call gives: one value, or one for each of its parts or arguments.
type Answer struct {
	Value
	Parts map[string]Value
}

// words are the keys of a value that is written as a map.
var words = map[string]bool{
	"base": true, "rate": true, "swing": true, "period": true, "step": true, "list": true, "each": true, "like": true,
	"integral": true, "scale": true, "type": true,
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *Answer) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && !words[n.Content[0].Value] {
		return n.Decode(&a.Parts)
	}
	return a.Value.UnmarshalYAML(n)
}

// returns are NVML's codes by name.
var returns = map[string]nvml.Return{
	"SUCCESS": nvml.SUCCESS, "ERROR_UNINITIALIZED": nvml.ERROR_UNINITIALIZED, "ERROR_INVALID_ARGUMENT": nvml.ERROR_INVALID_ARGUMENT,
	"ERROR_NOT_SUPPORTED": nvml.ERROR_NOT_SUPPORTED, "ERROR_NO_PERMISSION": nvml.ERROR_NO_PERMISSION,
	"ERROR_NOT_FOUND": nvml.ERROR_NOT_FOUND, "ERROR_INSUFFICIENT_SIZE": nvml.ERROR_INSUFFICIENT_SIZE,
	"ERROR_DRIVER_NOT_LOADED": nvml.ERROR_DRIVER_NOT_LOADED, "ERROR_TIMEOUT": nvml.ERROR_TIMEOUT,
	"ERROR_LIBRARY_NOT_FOUND": nvml.ERROR_LIBRARY_NOT_FOUND, "ERROR_FUNCTION_NOT_FOUND": nvml.ERROR_FUNCTION_NOT_FOUND,
	"ERROR_GPU_IS_LOST": nvml.ERROR_GPU_IS_LOST, "ERROR_RESET_REQUIRED": nvml.ERROR_RESET_REQUIRED,
	"ERROR_LIB_RM_VERSION_MISMATCH": nvml.ERROR_LIB_RM_VERSION_MISMATCH, "ERROR_IN_USE": nvml.ERROR_IN_USE,
	"ERROR_NO_DATA": nvml.ERROR_NO_DATA, "ERROR_ARGUMENT_VERSION_MISMATCH": nvml.ERROR_ARGUMENT_VERSION_MISMATCH,
	"ERROR_DEPRECATED": nvml.ERROR_DEPRECATED, "ERROR_NOT_READY": nvml.ERROR_NOT_READY, "ERROR_UNKNOWN": nvml.ERROR_UNKNOWN,
}
