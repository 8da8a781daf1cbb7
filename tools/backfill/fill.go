package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// fill writes what the plan's database lacks until now, and says what it wrote.
func fill(ctx context.Context, p Plan, now time.Time, out io.Writer) error {
	newest, found, err := settle(ctx, p.DataDir)
	if err != nil {
		return err
	}
	parts := p.stretches(newest, found, now)
	if len(parts) == 0 {
		fmt.Fprintln(out, "nothing is missing")
		return nil
	}
	sources, err := p.sources()
	if err != nil {
		return err
	}
	whole := span{parts[0].from, parts[len(parts)-1].to}
	feed := newFeed(ctx, sources, parts)
	defer feed.close()
	start, written := time.Now(), 0
	cut := blocks(whole)
	for i, block := range cut {
		n, err := writeBlock(ctx, p.DataDir, i+1, block, feed)
		if err != nil {
			return fmt.Errorf("write block %d of %d: %w", i+1, len(cut), err)
		}
		written += n
		fmt.Fprintf(out, "%d of %d blocks, %.1f M samples\n", i+1, len(cut), float64(written)/1e6)
	}
	fmt.Fprintf(out, "%s, %.1f M samples in %s\n", length(whole), float64(written)/1e6, time.Since(start).Round(100*time.Millisecond))
	return nil
}

// length is how long a span is, as people say it.
func length(s span) string {
	d := time.Duration(s.to-s.from) * time.Millisecond
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
	return d.Round(time.Second).String()
}

func (p Plan) sources() ([]source, error) {
	all := make([]source, 0, len(p.Agents)+len(p.Expositions))
	for _, a := range p.Agents {
		all = append(all, &simulated{agent: a})
	}
	for _, e := range p.Expositions {
		read, err := readExposition(e)
		if err != nil {
			return nil, err
		}
		all = append(all, read)
	}
	return all, nil
}

// feed hands out the ticks of every source, block by block.
type feed []*pull

// pull is one source, stopped in front of a tick.
type pull struct {
	source  source
	next    func() (tick, error, bool)
	stop    func()
	waiting *tick
}

func newFeed(ctx context.Context, sources []source, parts []stretch) feed {
	f := make(feed, 0, len(sources))
	for _, s := range sources {
		all := func(yield func(tick, error) bool) {
			for _, part := range parts {
				for t, err := range s.ticks(ctx, part) {
					if !yield(t, err) || err != nil {
						return
					}
				}
			}
		}
		next, stop := iter.Pull2(all)
		f = append(f, &pull{source: s, next: next, stop: stop})
	}
	return f
}

func (f feed) close() {
	for _, p := range f {
		p.stop()
	}
}

// before hands the source's ticks up to a time to use.
func (p *pull) before(end int64, use func(tick) error) error {
	for {
		if p.waiting == nil {
			t, err, more := p.next()
			if err != nil {
				return fmt.Errorf("past of %s: %w", p.source.name(), err)
			}
			if !more {
				return nil
			}
			p.waiting = &t
		}
		if p.waiting.time >= end {
			return nil
		}
		if err := use(*p.waiting); err != nil {
			return fmt.Errorf("store %s: %w", p.source.name(), err)
		}
		p.waiting = nil
	}
}
