package otlp

import "time"

// stream is what is remembered of a sender's series between requests.
type stream struct {
	seen time.Time // when its newest point came
	time uint64    // that point's own time, in Unix nanoseconds
	sum  float64   // of deltas so far
	hist *histogram
	exp  *exponential
	mean struct {
		count uint64
		sum   float64
	}
}

// streams is a bounded set of streams; those without a point for a lifetime are forgotten.
type streams struct {
	limit    int
	lifetime time.Duration
	all      map[string]*stream
	swept    time.Time
}

func newStreams(limit int, lifetime time.Duration) *streams {
	return &streams{limit: limit, lifetime: lifetime, all: map[string]*stream{}}
}

func (s *streams) expire(now time.Time) {
	if now.Sub(s.swept) < s.lifetime/8 && len(s.all) < s.limit {
		return
	}
	s.swept = now
	for key, x := range s.all {
		if now.Sub(x.seen) >= s.lifetime {
			delete(s.all, key)
		}
	}
}

// of finds a stream, or makes it; nil when there is no room.
func (s *streams) of(key string, now time.Time) *stream {
	x := s.all[key]
	if x != nil && now.Sub(x.seen) < s.lifetime {
		return x
	}
	if x == nil && len(s.all) >= s.limit {
		return nil
	}
	x = &stream{seen: now}
	s.all[key] = x
	return x
}
