package history

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// However many tenants there are, no more of them are remembered than the bound; the latest are.
func TestCacheIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	c := cache[int]{most: 8}
	c.setUp(func() time.Time { return now })
	loads := 0
	load := func(context.Context) (int, error) {
		loads++
		return loads, nil
	}
	for i := range 1000 {
		now = now.Add(time.Millisecond)
		if _, err := c.get(t.Context(), fmt.Sprint(i), time.Minute, load); err != nil {
			t.Fatal(err)
		}
		if len(c.entries) > 8 {
			t.Fatalf("%d entries", len(c.entries))
		}
	}
	for i := 999; i >= 992; i-- {
		if _, err := c.get(t.Context(), fmt.Sprint(i), time.Minute, load); err != nil || loads != 1000 {
			t.Fatalf("%d was loaded again", i)
		}
	}
	// What is being loaded is not forgotten while somebody waits for it.
	entered, release := make(chan struct{}), make(chan struct{})
	done := make(chan int)
	go func() {
		v, _ := c.get(context.Background(), "slow", time.Minute, func(context.Context) (int, error) {
			close(entered)
			<-release
			return -1, nil
		})
		done <- v
	}()
	<-entered
	for i := range 100 {
		_, _ = c.get(t.Context(), fmt.Sprint("other", i), time.Minute, load)
	}
	close(release)
	if v := <-done; v != -1 {
		t.Errorf("got %d", v)
	}
	if v, ok := c.peek("slow"); !ok || v != -1 {
		t.Errorf("forgot it: %d, %v", v, ok)
	}
}
