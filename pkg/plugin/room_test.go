package plugin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// countingPast is a Prometheus that takes its time, and counts who waits for it.
type countingPast struct {
	past

	now, most atomic.Int32
}

func (p *countingPast) PromQLTable(context.Context, query.Query, query.Window) history.Result {
	p.most.Store(max(p.most.Load(), p.now.Add(1)))
	defer p.now.Add(-1)
	time.Sleep(time.Second)
	return history.Result{}
}

// However many ask at once, so many queries are worked on, all are answered in turn, and who gives up while waiting is told why.
func TestQueriesAreWorkedOnInTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		p := &countingPast{past: f.history}
		f.history = p
		var all sync.WaitGroup
		for range 5 * mostQueries {
			all.Go(func() {
				if answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"promql","expr":"up"}`})["A"]; answer.Error != nil {
					t.Error(answer.Error)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.turns.enter(ctx, 1, mostQueries)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "other queries are worked on") {
			t.Errorf("who gives up: %v", err)
		}
		if status := f.failure(t.Context(), err).Status; status == http.StatusInternalServerError {
			t.Errorf("who gives up is answered %d", status)
		}
		all.Wait()
		if most := p.most.Load(); most != mostQueries {
			t.Errorf("%d at once", most)
		}
	})
}
