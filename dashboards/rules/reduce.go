package rules

import (
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"
)

// reduce takes what an exporter does not write out of all expressions, and the rules that are empty without it. What is recorded by
// such a rule is not there for the others either, so it goes on until nothing changes.
func reduce(groups []Group, n names) ([]Group, error) {
	r := reducer{names: n, gone: map[string]bool{}}
	for {
		known := len(r.gone)
		reduced, err := r.pass(groups)
		if err != nil || len(r.gone) == known {
			return reduced, err
		}
	}
}

// reducer knows which series are not there.
type reducer struct {
	names names
	gone  map[string]bool // names of recording rules that have nothing to record
}

func (r reducer) pass(groups []Group) ([]Group, error) {
	recorded := map[string]bool{}
	kept := make([]Group, 0, len(groups))
	for _, g := range groups {
		out := Group{Name: g.Name, Interval: g.Interval}
		for _, rule := range g.Rules {
			expr, err := r.expression(rule.Expr)
			if err != nil {
				return nil, fmt.Errorf("rule %s%s: %w", rule.Record, rule.Alert, err)
			}
			if expr == "" {
				continue
			}
			recorded[rule.Record] = true
			rule.Expr = expr
			out.Rules = append(out.Rules, rule)
		}
		if len(out.Rules) > 0 {
			kept = append(kept, out)
		}
	}
	for _, g := range groups {
		for _, rule := range g.Rules {
			if rule.Record != "" && !recorded[rule.Record] {
				r.gone[rule.Record] = true
			}
		}
	}
	return kept, nil
}

// expression is what is left of one, "" when nothing is. One that loses nothing stays as it is written.
func (r reducer) expression(text string) (string, error) {
	p := parser.NewParser(parser.Options{})
	before, err := p.ParseExpr(text)
	if err != nil {
		return "", err
	}
	whole := before.String()
	after, err := r.expr(before)
	switch {
	case err != nil || after == nil:
		return "", err
	case after.String() == whole:
		return text, nil
	}
	// Read again, so that what is printed is what Prometheus understands.
	short, err := p.ParseExpr(after.String())
	if err != nil {
		return "", fmt.Errorf("what is left of it: %w", err)
	}
	return parser.Prettify(short), nil
}

// expr is what is left of an expression, nil when it has no series. It changes the expression that it is given.
func (r reducer) expr(e parser.Expr) (parser.Expr, error) {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return r.selector(e)
	case *parser.MatrixSelector:
		return inside(r, e, &e.VectorSelector)
	case *parser.SubqueryExpr:
		return inside(r, e, &e.Expr)
	case *parser.AggregateExpr:
		return inside(r, e, &e.Expr)
	case *parser.UnaryExpr:
		return inside(r, e, &e.Expr)
	case *parser.ParenExpr:
		inner, err := r.expr(e.Expr)
		if err != nil || inner == nil {
			return nil, err
		}
		if _, operation := inner.(*parser.BinaryExpr); !operation {
			return inner, nil
		}
		e.Expr = inner
		return e, nil
	case *parser.Call:
		return r.call(e)
	case *parser.BinaryExpr:
		return r.operation(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return e, nil
	default:
		return nil, fmt.Errorf("%T is not known", e)
	}
}

// inside is an expression that has nothing when what it is made of has nothing.
func inside(r reducer, e parser.Expr, inner *parser.Expr) (parser.Expr, error) {
	left, err := r.expr(*inner)
	if err != nil || left == nil {
		return nil, err
	}
	*inner = left
	return e, nil
}

func (r reducer) call(e *parser.Call) (parser.Expr, error) {
	switch e.Func.Name {
	case "absent", "absent_over_time", "scalar":
		// These have a value where there is no series; taken out, they would say the opposite.
		return nil, fmt.Errorf("%s cannot be made for one exporter", e.Func.Name)
	}
	for i, arg := range e.Args {
		left, err := r.expr(arg)
		if err != nil || left == nil {
			return nil, err
		}
		e.Args[i] = left
	}
	return e, nil
}

func (r reducer) operation(e *parser.BinaryExpr) (parser.Expr, error) {
	left, err := r.expr(e.LHS)
	if err != nil {
		return nil, err
	}
	right, err := r.expr(e.RHS)
	if err != nil {
		return nil, err
	}
	switch {
	case left == nil && e.Op == parser.LOR:
		return right, nil
	case left == nil:
		return nil, nil
	case right == nil && (e.Op == parser.LOR || e.Op == parser.LUNLESS):
		return left, nil
	case right == nil:
		return nil, nil
	}
	e.LHS, e.RHS = left, right
	return e, nil
}
