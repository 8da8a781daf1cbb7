package catalog

import (
	"math"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// What is plain is converted as any sample is, and is nothing that has to be told of.
func TestPlainIsConvert(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	values := []float64{0, math.Copysign(0, -1), 1, 0.5, 1.0000001, -1, 99, 100, 100.5, 4294967295, 2147483631, 2147483632, 2147483644, 1e12, 9.3e18, -9.3e18, -9.1e18,
		math.MaxFloat64, -math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1), 16 << 40}
	plain := 0
	for _, m := range c.Metrics() {
		for _, s := range m.Sources {
			p := Plainly(m, s.Conversion)
			for _, raw := range values {
				got, ok := p.Convert(raw)
				if !ok {
					continue
				}
				plain++
				want, verdict := c.Convert(m, s.Conversion, raw)
				if verdict != Kept || math.Float64bits(got) != math.Float64bits(want) || want > 1 && m.ShownUnit() == gpu.Ratio {
					t.Errorf("%v of %s: %v is plain, and %v with verdict %v", raw, s.Series, got, want, verdict)
				}
			}
		}
	}
	if plain == 0 {
		t.Error("nothing is plain")
	}
}
