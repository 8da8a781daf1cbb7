package wish

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTheMostEagerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook()
		assert.Zero(t, b.Period())
		x, y := b.Join(), b.Join()
		x.Set(500 * time.Millisecond)
		y.Set(100 * time.Millisecond)
		<-b.Changed()
		assert.Equal(t, 2, b.Count())
		assert.Equal(t, 100*time.Millisecond, b.Period())
		y.Leave()
		assert.Equal(t, 1, b.Count())
		time.Sleep(Lease - time.Millisecond)
		assert.Equal(t, 100*time.Millisecond, b.Period(), "it may come back")
		time.Sleep(time.Millisecond)
		assert.Equal(t, 500*time.Millisecond, b.Period())
		x.Leave()
		x.Leave()
		time.Sleep(Lease)
		assert.Zero(t, b.Period())
		assert.Zero(t, b.Count())
	})
}

func TestAWishThatComesBackIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook()
		for range 20 {
			w := b.Join()
			w.Set(200 * time.Millisecond)
			time.Sleep(10 * time.Second)
			w.Leave()
			time.Sleep(10 * time.Second)
			assert.Equal(t, 200*time.Millisecond, b.Period())
		}
		time.Sleep(5 * time.Second)
		assert.Zero(t, b.Period())
	})
}

func TestALessEagerWishTakesOverAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook()
		w := b.Join()
		w.Set(100 * time.Millisecond)
		w.Set(250 * time.Millisecond)
		assert.Equal(t, 100*time.Millisecond, b.Period())
		time.Sleep(Lease)
		assert.Equal(t, 250*time.Millisecond, b.Period())
	})
}

// However readers come and go, what is remembered of them is bounded, and never makes samples rarer than one wished.
func TestWithdrawnWishesAreBounded(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		b := NewBook()
		for i := range 1000 {
			w := b.Join()
			w.Set(time.Duration(100+i) * time.Millisecond)
			w.Leave()
			assert.LessOrEqual(t, len(b.left), maxLeft)
		}
		assert.Equal(t, 100*time.Millisecond, b.Period())
		time.Sleep(Lease)
		assert.Zero(t, b.Period())
		assert.Empty(t, b.left)
	})
}
