package snapshot

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

const (
	// chunkTicks and chunkBytes are how much one chunk holds: also what a reader of the past gets in one message.
	chunkTicks = 64
	chunkBytes = 64 << 10
)

// chunk is a run of ticks of one schema. The bytes it has are never changed, only added to.
type chunk struct {
	schema *Schema
	first  uint64 // sequence number
	count  int
	key    []byte // a tick from nothing to the state before the first; nil when that is nothing
	ticks  []byte // fields of a wire.Batch
	extra  int    // bytes that the schema takes, where the chunk before does not share them
}

func (c *chunk) full() bool { return c.count >= chunkTicks || len(c.ticks) >= chunkBytes }

func (c *chunk) size() int { return int(unsafe.Sizeof(*c)) + cap(c.key) + cap(c.ticks) + c.extra }

// period is what one tick is for.
func (c *chunk) period() time.Duration { return max(c.schema.Node.Period, time.Millisecond) }

func (c *chunk) last() uint64 { return c.first + uint64(c.count) - 1 }

// stateBefore is the state before a tick of the chunk, and that tick with all after it.
func (c *chunk) stateBefore(seq uint64) (*wire.State, []byte, error) {
	state, rest := wire.NewState(len(c.schema.Columns)), c.ticks
	var err error
	if c.key != nil {
		if _, _, err = state.Apply(c.key); err != nil {
			return nil, nil, fmt.Errorf("read the past at sample %d: %w", c.first, err)
		}
	}
	for at := c.first; at < seq; at++ {
		if _, rest, err = state.Apply(rest); err != nil {
			return nil, nil, fmt.Errorf("read the past at sample %d: %w", at, err)
		}
	}
	return state, rest, nil
}

// from are the bytes of a tick of the chunk and all after it.
func (c *chunk) from(seq uint64) ([]byte, error) {
	rest := c.ticks
	for at := c.first; at < seq; at++ {
		var err error
		if _, rest, err = wire.NextTick(rest); err != nil {
			return nil, fmt.Errorf("read the past at sample %d: %w", at, err)
		}
	}
	return rest, nil
}

// times are when the ticks were taken, Unix milliseconds.
func (c *chunk) times() []int64 {
	times := make([]int64, 0, c.count)
	for rest := c.ticks; len(rest) > 0; {
		head, more, err := wire.NextTick(rest)
		if err != nil {
			break // it was written here
		}
		times, rest = append(times, head.Time.UnixMilli()), more
	}
	return times
}
