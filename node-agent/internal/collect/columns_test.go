package collect

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Whatever happens, what is published is what is known: nothing that changed is left as it was.
func TestOnlyWhatChangedIsLaidOutAgain(t *testing.T) {
	cat, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(cat)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		source := &fakeSource{}
		boards := make([]*fakeBoard, 4)
		for i := range boards {
			boards[i] = newBoard(i)
			boards[i].readings = map[device.Metric]float64{}
			source.boards = append(source.boards, boards[i])
		}
		store := snapshot.NewStore(9*time.Second, 1<<24)
		c := New(Options{
			Source: source, Store: store, Rows: rows, Metrics: NewMetrics(prometheus.NewRegistry()),
			Node: snapshot.Node{Period: time.Second}, Logger: slog.New(slog.DiscardHandler),
		})
		c.layout()
		list := func() {
			found, err := source.Inventory(t.Context())
			require.NoError(t, err)
			c.apply(report{found: &found})
		}
		list()
		for range 500 {
			i := random.IntN(len(boards))
			board := boards[i]
			switch random.IntN(8) {
			case 0:
				board.err = fmt.Errorf("sample: %w", device.ErrLost)
			case 1:
				board.err = nil
			case 2:
				boards[i] = newBoard(i) // given anew, sometimes with an instance
				boards[i].readings = board.readings
				if d := boards[i].devices[0]; random.IntN(2) == 0 {
					d.GPUInstance = "1"
					boards[i].devices = append(boards[i].devices, d)
				}
				source.boards[i] = boards[i]
				list()
			case 3:
				c.note(occurrence{Event: nvmlXID(i, uint64(random.IntN(100)))})
			case 4:
				yes := random.IntN(2) == 0
				c.apply(report{heard: &yes})
			case 5:
				s := NewSchedule(device.Profiles()[random.IntN(3)], ClassIntervals(time.Second))
				c.replanned(s)
			default:
				board.readings[device.Metric(random.IntN(int(device.NumMetrics)))] = random.Float64() * 1000
			}
			at := align(time.Now(), time.Second)
			time.Sleep(time.Until(at))
			c.tick(t.Context(), at)
			require.Equal(t, c.schema.Flatten(c.values), store.Newest().Readings)
			require.Same(t, c.schema, store.Newest().Schema)
		}
		for _, e := range c.entries {
			e.retire()
		}
		close(c.stopped)
		c.workers.Wait()
	})
}
