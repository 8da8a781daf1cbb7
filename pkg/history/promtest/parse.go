package promtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// parse reads the PromQL that this package knows. What it does not know is an error, as with a real server.
func parse(text string) (node, error) {
	p := &parser{text: text}
	n := p.expr()
	if p.space(); p.err == nil && p.pos < len(p.text) {
		p.fail("unexpected %q", p.text[p.pos:])
	}
	return n, p.err
}

type parser struct {
	text string
	pos  int
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("parse error: "+format, args...)
	}
}

func (p *parser) space() {
	for p.pos < len(p.text) && strings.ContainsRune(" \t\n", rune(p.text[p.pos])) {
		p.pos++
	}
}

func (p *parser) accept(token string) bool {
	p.space()
	if strings.HasPrefix(p.text[p.pos:], token) {
		p.pos += len(token)
		return true
	}
	return false
}

func (p *parser) expect(token string) {
	if !p.accept(token) {
		p.fail("expected %q at %q", token, p.text[p.pos:])
		p.pos = len(p.text)
	}
}

var word = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)

func (p *parser) word() string {
	p.space()
	w := word.FindString(p.text[p.pos:])
	p.pos += len(w)
	return w
}

func (p *parser) expr() node {
	left := p.term()
	for p.err == nil {
		switch {
		case p.accept("or "):
			left = or{left, p.term()}
		case p.accept("unless "):
			left = unless{left, p.filtered()}
		case p.accept("<="):
			limit := p.number()
			left = compare{left, func(v float64) bool { return v <= limit }}
		case p.accept("!="):
			value := p.number()
			left = compare{left, func(v float64) bool { return v != value }}
		case p.accept("=="):
			value := p.number()
			left = compare{left, func(v float64) bool { return v == value }}
		case p.accept(">="):
			limit := p.number()
			left = compare{left, func(v float64) bool { return v >= limit }}
		case p.accept("<"):
			limit := p.number()
			left = compare{left, func(v float64) bool { return v < limit }}
		case p.accept(">"):
			limit := p.number()
			left = compare{left, func(v float64) bool { return v > limit }}
		default:
			return left
		}
	}
	return left
}

// filtered is a term that may be compared with a number: comparisons bind closer than "unless".
func (p *parser) filtered() node {
	n := p.term()
	if p.accept(">=") {
		limit := p.number()
		return compare{n, func(v float64) bool { return v >= limit }}
	}
	return n
}

func (p *parser) term() node {
	if p.accept("(") {
		n := p.expr()
		p.expect(")")
		return n
	}
	start := p.pos
	name := p.word()
	switch name {
	case "rate":
		p.expect("(")
		sel := p.selector()
		length := p.brackets()
		p.expect(")")
		return rate{sel, length}
	case "timestamp":
		p.expect("(")
		sel := p.selector()
		p.expect(")")
		return measured{sel}
	case "max_over_time", "min_over_time", "avg_over_time":
		p.expect("(")
		of := p.expr()
		p.expect("[")
		length := p.duration()
		if p.accept(":") {
			step := p.duration()
			p.expect("]")
			p.expect(")")
			return subquery{folds[name], of, length, max(step, 1)}
		}
		p.expect("]")
		p.expect(")")
		sel, ok := of.(selector)
		if !ok {
			p.fail("%s of what is no selector needs a subquery", name)
		}
		return overTime{folds[name], sel, length}
	case "histogram_quantile":
		p.expect("(")
		q := p.number()
		p.expect(",")
		of := p.expr()
		p.expect(")")
		return quantile{q, of}
	case "label_replace":
		return p.relabel()
	case "vector":
		p.expect("(")
		v := p.number()
		p.expect(")")
		return vector(v)
	case "group", "max", "min", "sum", "avg", "count":
		return p.aggregate(name)
	}
	p.pos = start
	sel := p.selector()
	if p.accept("offset ") {
		return offset{sel, p.duration()}
	}
	return sel
}

func (p *parser) aggregate(fn string) node {
	a := aggregate{fn: fn}
	if p.accept("by") {
		p.expect("(")
		for p.err == nil && !p.accept(")") {
			if p.accept(",") {
				continue
			}
			a.by = append(a.by, p.name())
		}
	}
	p.expect("(")
	a.of = p.expr()
	p.expect(")")
	return a
}

// relabel knows the form without a source label, which sets a label on all series.
func (p *parser) relabel() node {
	p.expect("(")
	of := p.expr()
	var args [4]string
	for i := range args {
		p.expect(",")
		args[i] = p.quoted()
	}
	p.expect(")")
	if args[2] != "" || args[3] != "" {
		p.fail("label_replace with a source label is not known here")
	}
	return relabel{of, args[0], args[1]}
}

func (p *parser) selector() selector {
	var sel selector
	name := p.word()
	if name != "" {
		sel = append(sel, matcher{name: "__name__", op: "=", value: name})
	}
	if !p.accept("{") {
		if name == "" {
			p.fail("expected a selector at %q", p.text[p.pos:])
		}
		return sel
	}
	for p.err == nil && !p.accept("}") {
		if p.accept(",") {
			continue
		}
		sel = append(sel, p.matcher())
	}
	return sel
}

func (p *parser) matcher() matcher {
	name := p.name()
	for _, op := range []string{"=~", "!~", "!=", "="} {
		if !p.accept(op) {
			continue
		}
		m := matcher{name: name, op: op, value: p.quoted()}
		if strings.HasSuffix(op, "~") {
			re, err := regexp.Compile("^(?s:" + m.value + ")$")
			if err != nil {
				p.fail("%v", err)
				re = regexp.MustCompile("")
			}
			m.re = re
		}
		return m
	}
	return matcher{name: "__name__", op: "=", value: name}
}

// name is a label's name, in quotes or not.
func (p *parser) name() string {
	p.space()
	if strings.HasPrefix(p.text[p.pos:], `"`) {
		return p.quoted()
	}
	w := p.word()
	if w == "" {
		p.fail("expected a name at %q", p.text[p.pos:])
	}
	return w
}

func (p *parser) quoted() string {
	p.space()
	literal, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		p.fail("expected a string at %q", p.text[p.pos:])
		return ""
	}
	p.pos += len(literal)
	value, err := strconv.Unquote(literal)
	if err != nil {
		p.fail("string %s: %v", literal, err)
	}
	return value
}

var numberText = regexp.MustCompile(`^[-+]?[0-9.]+([eE][-+]?[0-9]+)?`)

func (p *parser) number() float64 {
	p.space()
	text := numberText.FindString(p.text[p.pos:])
	p.pos += len(text)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail("expected a number at %q", p.text[p.pos:])
	}
	return v
}

func (p *parser) brackets() int64 {
	p.expect("[")
	d := p.duration()
	p.expect("]")
	return d
}

var durationText = regexp.MustCompile(`^([0-9]+(ms|[smhdwy]))+`)

func (p *parser) duration() int64 {
	p.space()
	text := durationText.FindString(p.text[p.pos:])
	p.pos += len(text)
	d, err := model.ParseDuration(text)
	if err != nil {
		p.fail("expected a duration at %q", p.text[p.pos:])
	}
	return time.Duration(d).Milliseconds()
}
