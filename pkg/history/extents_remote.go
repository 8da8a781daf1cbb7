package history

import (
	"context"
	"time"
)

// Remote is a cache outside the process, which the plugins of several Grafana servers share. What it holds is checked
// before it is used, and never trusted to be there.
type Remote interface {
	// GetMulti returns what there is of the keys, and nothing for those that failed. It ends with ctx.
	GetMulti(ctx context.Context, keys []string) map[string][]byte
	// SetAsync stores a value for a while, some time later or never. It does not wait, and bounds what it has not stored.
	SetAsync(key string, value []byte, ttl time.Duration)
}

const (
	// remoteWait is how long the shared cache may take before the servers are asked instead.
	remoteWait = 500 * time.Millisecond
	// remoteEvery is by how many ticks a block must have grown to be stored again before it is full.
	remoteEvery = blockTicks / 4
)

// fromRemote asks the shared cache for blocks. What cannot be read, or is no longer trusted, is left out.
func (x *extents) fromRemote(ctx context.Context, keys []blockKey, now int64) map[blockKey]*slab {
	if x.options.CacheRemote == nil || len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, remoteWait)
	defer cancel()
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.remote()
	}
	values := x.options.CacheRemote.GetMulti(ctx, names)
	found := map[blockKey]*slab{}
	for i, key := range keys {
		value, ok := values[names[i]]
		if !ok {
			x.metrics.remote.WithLabelValues(cacheMiss).Inc()
			continue
		}
		e, err := decodeSlab(value, key, x.memory.budget/largestShare)
		switch {
		case err != nil || e.until > now+mostTrust.Milliseconds()+leastTrust.Milliseconds():
			x.metrics.remote.WithLabelValues("garbage").Inc()
		case e.until <= now:
			x.metrics.remote.WithLabelValues(cacheMiss).Inc()
		default:
			x.metrics.remote.WithLabelValues(cacheHit).Inc()
			found[key] = e
		}
	}
	return found
}

// toRemote stores a block when it is full, and before that when it has grown enough.
func (x *extents) toRemote(key blockKey, e *slab, now int64) {
	if x.options.CacheRemote == nil || e.ticks() == e.sent {
		return
	}
	full := e.to == (key.block+1)*blockTicks-1
	if !full && e.ticks()-e.sent < remoteEvery {
		return
	}
	x.options.CacheRemote.SetAsync(key.remote(), encodeSlab(e, key), time.Duration(e.until-now)*time.Millisecond)
	x.memory.mark(key, e)
}
