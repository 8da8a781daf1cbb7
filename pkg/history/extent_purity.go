package history

import (
	"github.com/prometheus/prometheus/promql/parser"
)

// purity is what must be known of an expression before its answers may be cut at steps and put together.
type purity struct {
	pure  bool
	ahead int64 // milliseconds after a step whose samples its value depends on: negative offsets
	pin   int64 // Unix milliseconds of the newest samples that every step depends on: the modifier @; 0 for none
}

// purityOf reads an expression. Pure is one whose value at a step does not depend on where the range begins and ends:
//
//   - no @ start() and @ end(), on selectors and subqueries, and no start(), end() and range();
//   - no durations that are computed, as they may be of the range;
//   - no smoothed, which looks at samples after the step;
//   - no limitk, which takes the series that the server happens to have first.
//
// topk, limit_ratio, subqueries, offsets, @ with a time, time() and step() are. What Prometheus' parser does not know,
// like the functions of MetricsQL, is not.
func purityOf(p parser.Parser, expr string) purity {
	root, err := p.ParseExpr(expr)
	if err != nil {
		return purity{}
	}
	found := purity{pure: true}
	found.ahead = found.walk(root)
	return found
}

// walk returns how far a node looks ahead, in milliseconds, and notes what else there is.
func (p *purity) walk(node parser.Node) int64 {
	switch n := node.(type) {
	case *parser.VectorSelector:
		if n.StartOrEnd != 0 || n.OriginalOffsetExpr != nil || n.Smoothed {
			p.pure = false
		}
		return p.shifted(0, n.OriginalOffset.Milliseconds(), n.Timestamp)
	case *parser.SubqueryExpr:
		if n.StartOrEnd != 0 || n.OriginalOffsetExpr != nil || n.RangeExpr != nil || n.StepExpr != nil {
			p.pure = false
		}
		return p.shifted(p.walk(n.Expr), n.OriginalOffset.Milliseconds(), n.Timestamp)
	case *parser.MatrixSelector:
		if n.RangeExpr != nil {
			p.pure = false
		}
		return p.walk(n.VectorSelector)
	case *parser.Call:
		switch n.Func.Name {
		case "start", "end", "range":
			p.pure = false
		}
	case *parser.AggregateExpr:
		if n.Op == parser.LIMITK {
			p.pure = false
		}
	}
	var ahead int64
	for child := range parser.ChildrenIter(node) {
		ahead = max(ahead, p.walk(child))
	}
	return ahead
}

// shifted is how far ahead something looks behind an offset. Behind @ it looks at its own time.
func (p *purity) shifted(ahead, offset int64, at *int64) int64 {
	if at == nil {
		return max(ahead-offset, 0)
	}
	p.pin = max(p.pin, *at-offset+ahead)
	return 0
}

// settled is the newest step whose value does not change any more, when samples up to a time are complete. It is false
// when no step is settled.
func (p purity) settled(complete int64) (int64, bool) {
	return complete - p.ahead, p.pure && p.pin < complete
}
