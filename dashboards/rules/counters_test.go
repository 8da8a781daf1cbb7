package rules

import (
	"slices"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// rate() of what is no counter is a number without a meaning: that of the newest XID adds up codes, that of NVLink's bandwidth is a
// change of a rate.
func TestOnlyCountersGrow(t *testing.T) {
	c := known(t)
	grows := []string{"rate", "irate", "increase"}
	looked := 0
	for _, g := range of(t, Any) {
		for _, r := range g.Rules {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
			require.NoError(t, err)
			parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
				call, ok := n.(*parser.Call)
				if !ok || !slices.Contains(grows, call.Func.Name) {
					return nil
				}
				matrix, ok := call.Args[0].(*parser.MatrixSelector)
				require.True(t, ok)
				for _, source := range c.Lookup(matrix.VectorSelector.(*parser.VectorSelector).Name) {
					m, _ := c.Metric(source.Metric)
					assert.NotEqual(t, catalog.Gauge, m.Kind, "%s%s: %s of %s", r.Record, r.Alert, call.Func.Name, source.Series)
					looked++
				}
				return nil
			})
		}
	}
	assert.Greater(t, looked, 20)
}
