package query

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// maxDepth bounds how deeply expressions are nested that matchers are added to: writing one takes the square of it.
const maxDepth = 1000

var errTooDeep = errors.New(`field "expr": it is nested too deeply to add filters to it; make it shorter`)

// additions are the matchers to add to a selector: a series must pass all matchers of one of the sets. No set adds none.
type additions [][]*labels.Matcher

// injector adds matchers to the selectors of an expression. Where a selector needs several sets of matchers it becomes
// several selectors joined by "or". The sets must be told apart by the series' labels, never by the metric's name alone:
// then "or", which does not compare names, drops nothing.
type injector struct {
	additions func(*parser.VectorSelector) (additions, error)
}

// rewrite changes the expression and returns what stands for it.
func (in injector) rewrite(expr parser.Expr, depth int) (parser.Expr, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	var err error
	into := func(at *parser.Expr) {
		if err == nil && *at != nil {
			*at, err = in.rewrite(*at, depth+1)
		}
	}
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return in.selector(e)
	case *parser.MatrixSelector:
		variants, err := in.matrices(e)
		if err != nil {
			return nil, err
		}
		if len(variants) > 1 {
			return nil, errors.New(`field "expr": a range that is not in a function cannot be restricted to this many values or to owners; use fewer`)
		}
		return variants[0], nil
	case *parser.Call:
		return in.call(e, depth)
	case *parser.AggregateExpr:
		into(&e.Param)
		into(&e.Expr)
	case *parser.BinaryExpr:
		into(&e.LHS)
		into(&e.RHS)
	case *parser.ParenExpr:
		into(&e.Expr)
	case *parser.UnaryExpr:
		into(&e.Expr)
	case *parser.SubqueryExpr:
		into(&e.Expr)
	case *parser.StepInvariantExpr:
		into(&e.Expr)
	}
	return expr, err
}

// call rewrites a function's arguments. Functions of a range, and those that look at the selector itself, are called once
// for each variant of it.
func (in injector) call(call *parser.Call, depth int) (parser.Expr, error) {
	at, variants := -1, []parser.Expr(nil)
	for i, arg := range call.Args {
		switch inner := unwrap(arg).(type) {
		case *parser.MatrixSelector:
			several, err := in.matrices(inner)
			if err != nil {
				return nil, err
			}
			at, variants = i, several
		case *parser.VectorSelector:
			if !looksAtSelector(call.Func.Name) {
				rewritten, err := in.rewrite(arg, depth+1)
				if err != nil {
					return nil, err
				}
				call.Args[i] = rewritten
				continue
			}
			several, err := in.vectors(inner)
			if err != nil {
				return nil, err
			}
			at, variants = i, several
		default:
			rewritten, err := in.rewrite(arg, depth+1)
			if err != nil {
				return nil, err
			}
			call.Args[i] = rewritten
		}
	}
	switch {
	case at < 0:
		return call, nil
	case len(variants) == 1:
		call.Args[at] = variants[0]
		return call, nil
	case call.Func.Name == "absent" || call.Func.Name == "absent_over_time":
		return nil, fmt.Errorf(`field "expr": %s() cannot be restricted to this many values or to owners; use fewer`, call.Func.Name)
	}
	calls := make([]parser.Expr, len(variants))
	for i, variant := range variants {
		one := *call
		one.Args = slices.Clone(call.Args)
		one.Args[at] = variant
		calls[i] = &one
	}
	return anyOf(calls), nil
}

// looksAtSelector reports whether a function gives something else for a selector than for an expression of the same
// value: the time or the labels of what is stored.
func looksAtSelector(function string) bool {
	return function == "timestamp" || function == "start_timestamp" || function == "absent"
}

func unwrap(expr parser.Expr) parser.Expr {
	for {
		paren, ok := expr.(*parser.ParenExpr)
		if !ok {
			return expr
		}
		expr = paren.Expr
	}
}

func (in injector) selector(selector *parser.VectorSelector) (parser.Expr, error) {
	variants, err := in.vectors(selector)
	if err != nil {
		return nil, err
	}
	return anyOf(variants), nil
}

// vectors are the selector with each of the sets of matchers that it is to have.
func (in injector) vectors(selector *parser.VectorSelector) ([]parser.Expr, error) {
	if selector.BypassEmptyMatcherCheck {
		return []parser.Expr{selector}, nil // the labels that info() adds, which select nothing
	}
	sets, err := in.additions(selector)
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return []parser.Expr{selector}, nil
	}
	variants := make([]parser.Expr, len(sets))
	for i, set := range sets {
		one := *selector
		one.LabelMatchers = slices.Clone(selector.LabelMatchers)
		for _, m := range set {
			if m.Name == model.MetricNameLabel {
				one.Name = "" // it is then written as a matcher, and a second one may stand beside it
			}
			if !slices.ContainsFunc(one.LabelMatchers, func(known *labels.Matcher) bool { return same(known, m) }) {
				one.LabelMatchers = append(one.LabelMatchers, m)
			}
		}
		variants[i] = &one
	}
	return variants, nil
}

func same(a, b *labels.Matcher) bool {
	return a.Type == b.Type && a.Name == b.Name && a.Value == b.Value
}

func (in injector) matrices(matrix *parser.MatrixSelector) ([]parser.Expr, error) {
	selector, ok := matrix.VectorSelector.(*parser.VectorSelector)
	if !ok {
		return nil, errors.New(`field "expr": a range must follow a selector`)
	}
	variants, err := in.vectors(selector)
	if err != nil {
		return nil, err
	}
	for i, variant := range variants {
		one := *matrix
		one.VectorSelector = variant
		variants[i] = &one
	}
	return variants, nil
}

// anyOf joins expressions by "or", as a tree, because each "or" costs as much as both of its sides are long.
func anyOf(variants []parser.Expr) parser.Expr {
	if len(variants) == 1 {
		return variants[0]
	}
	half := len(variants) / 2
	return &parser.ParenExpr{Expr: &parser.BinaryExpr{
		Op: parser.LOR, LHS: anyOf(variants[:half]), RHS: anyOf(variants[half:]),
		VectorMatching: &parser.VectorMatching{Card: parser.CardManyToMany},
	}}
}
