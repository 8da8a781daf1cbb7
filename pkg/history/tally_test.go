package history

import (
	"context"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/query"
)

func TestStepsThatTheCacheHadAreCounted(t *testing.T) {
	w := windowOf(noon.Add(-5*time.Hour), noon.Add(-4*time.Hour), 30*time.Second)
	longer := windowOf(noon.Add(-5*time.Hour), noon.Add(-3*time.Hour), 30*time.Second)
	for name, c := range map[string]struct {
		options           Options
		again, andFarther int64
	}{
		"with a cache": {Options{}, 121, 121},
		"without":      {Options{CacheBytes: -1}, 0, 0},
	} {
		now := noon
		h := cachedAt(t, &upstream{Handler: steady(3, noon, 30*time.Hour)}, &now, c.options)
		steps := func(w query.Window) (cached, asked int64) {
			ctx, tally := WithTally(context.Background())
			if r := rangeIn(ctx, t, h, "gauge", w); r.Err != nil {
				t.Fatal(r.Err)
			}
			return tally.Steps()
		}
		if cached, asked := steps(w); cached != 0 || asked != 121 {
			t.Errorf("%s, at first: %d of %d", name, cached, asked)
		}
		if cached, asked := steps(w); cached != c.again || asked != 121 {
			t.Errorf("%s, again: %d of %d", name, cached, asked)
		}
		if cached, asked := steps(longer); cached != c.andFarther || asked != 241 {
			t.Errorf("%s, with more: %d of %d", name, cached, asked)
		}
	}
}

func TestTallyOfNoRangeQueryIsEmpty(t *testing.T) {
	_, tally := WithTally(context.Background())
	if cached, asked := tally.Steps(); cached != 0 || asked != 0 {
		t.Errorf("%d of %d", cached, asked)
	}
}
