package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// exposition is a target that always answers with the same text.
type exposition struct {
	label   string
	samples []sample
}

func readExposition(e Exposition) (*exposition, error) {
	text, err := os.ReadFile(e.File)
	if err != nil {
		return nil, fmt.Errorf("read exposition: %w", err)
	}
	parsed, err := parseExposition(text, e.Target)
	if err != nil {
		return nil, fmt.Errorf("read exposition %s: %w", e.File, err)
	}
	return &exposition{label: e.Target["instance"], samples: append(parsed, sample{up(e.Target), 1})}, nil
}

func parseExposition(text []byte, target map[string]string) ([]sample, error) {
	parser, err := textparse.New(text, "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return nil, err
	}
	var samples []sample
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			return nil, err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, v := parser.Series()
		var exposed labels.Labels
		parser.Labels(&exposed)
		samples = append(samples, sample{&series{labels: targetLabels(target, exposed)}, v})
	}
}

func (e *exposition) name() string { return e.label }

func (e *exposition) ticks(_ context.Context, part stretch) iter.Seq2[tick, error] {
	return func(yield func(tick, error) bool) {
		for t := range part.times {
			if !yield(tick{t, e.samples}, nil) {
				return
			}
		}
	}
}
