package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

// maxMessage bounds one message of the simulator; an hour of a node is far smaller.
const maxMessage = 64 << 20

// simulated is an agent whose past is asked from its simulator.
type simulated struct {
	agent Agent
}

func (s *simulated) name() string { return s.agent.Target["instance"] }

func (s *simulated) ticks(ctx context.Context, part stretch) iter.Seq2[tick, error] {
	return func(yield func(tick, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		first := ceil(part.from, part.step)
		if first >= part.to {
			return
		}
		// The simulator's last moment is included, and comes after its first.
		args := append(s.agent.Command[1:len(s.agent.Command):len(s.agent.Command)], "--from="+stamp(first),
			"--to="+stamp(max(part.to-1, first+1)), "--step="+(time.Duration(part.step)*time.Millisecond).String())
		cmd := exec.CommandContext(ctx, s.agent.Command[0], args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			yield(tick{}, fmt.Errorf("start simulator: %w", err))
			return
		}
		more, err := decode(out, newScrape(s.agent), yield)
		if !more {
			cancel()
			_ = cmd.Wait() // it was killed because nobody reads it any more
			return
		}
		if werr := cmd.Wait(); werr != nil {
			err = fmt.Errorf("simulator: %w: %s", werr, strings.TrimSpace(stderr.String()))
		}
		if err != nil {
			yield(tick{}, err)
		}
	}
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// decode reads messages until the end and yields a tick for each sample; more is false when yield wanted no more.
func decode(r io.Reader, target *scrape, yield func(tick, error) bool) (more bool, err error) {
	in := bufio.NewReaderSize(r, 1<<20)
	options := protodelim.UnmarshalOptions{MaxSize: maxMessage}
	var decoder *wire.Decoder
	for {
		message := &wire.Message{}
		if err := options.UnmarshalFrom(in, message); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return true, fmt.Errorf("read simulator: %w", err)
		}
		switch body := message.GetBody().(type) {
		case *wire.Message_Schema:
			if decoder, err = wire.NewDecoder(body.Schema); err != nil {
				return true, err
			}
			target.schema(body.Schema)
		case *wire.Message_Batch:
			if decoder == nil {
				return true, errors.New("read simulator: samples came before the schema")
			}
			for _, t := range body.Batch.GetTicks() {
				decoded, err := decoder.Decode(t)
				if err != nil {
					return true, fmt.Errorf("read simulator: %w", err)
				}
				if !yield(target.tick(decoded), nil) {
					return false, nil
				}
			}
		}
	}
}
