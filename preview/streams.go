package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// streamTimes say how soon a stream without subscribers ends and how soon a failed one is tried again.
type streamTimes struct {
	check      time.Duration // how often subscribers are counted
	misses     int           // counts without a subscriber after which the stream ends
	backoff    time.Duration // wait after the first failure, doubled after every further one
	maxBackoff time.Duration
}

// defaultStreamTimes are Grafana's.
var defaultStreamTimes = streamTimes{check: 5 * time.Second, misses: 3, backoff: 100 * time.Millisecond, maxBackoff: 5 * time.Second}

// streamKey names a stream. Two spellings of an address are two channels to browsers, and so two streams, as in Grafana.
type streamKey struct {
	channel string
	address channelAddress
}

// streamsConfig is what streams needs of its surroundings.
type streamsConfig struct {
	run         func(ctx context.Context, address channelAddress, data []byte, send func([]byte) error) error
	publish     func(channel string, data []byte) error
	subscribers func(channel string) int
	times       streamTimes
	log         hclog.Logger
}

// streams runs one stream of the plugin per channel, from the first subscriber until a while after the last.
type streams struct {
	streamsConfig

	mu      sync.Mutex
	running map[streamKey]context.CancelFunc
	group   sync.WaitGroup
}

func newStreams(c streamsConfig) *streams {
	return &streams{streamsConfig: c, running: map[streamKey]context.CancelFunc{}}
}

// ensure starts the channel's stream unless it runs. A stream keeps the data of the subscriber that started it.
func (s *streams) ensure(ctx context.Context, key streamKey, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.running[key]; ok || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.running[key] = cancel
	s.group.Add(2)
	go func() {
		defer s.group.Done()
		s.keepRunning(ctx, key, data)
		s.forget(key)
	}()
	go func() {
		defer s.group.Done()
		s.watchSubscribers(ctx, key)
		cancel()
	}()
}

// stop ends all streams and waits for them; no stream may be started any more.
func (s *streams) stop() {
	s.mu.Lock()
	for _, cancel := range s.running {
		cancel()
	}
	s.mu.Unlock()
	s.group.Wait()
}

func (s *streams) forget(key streamKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[key]()
	delete(s.running, key)
}

// keepRunning runs the stream again after every failure, until ctx ends or the plugin ends the stream without an error.
func (s *streams) keepRunning(ctx context.Context, key streamKey, data []byte) {
	wait := s.times.backoff
	for {
		started := time.Now()
		s.log.Debug("a stream starts", "channel", key.channel)
		err := s.run(ctx, key.address, data, func(packet []byte) error { return s.publish(key.channel, packet) })
		switch {
		case ctx.Err() != nil:
			s.log.Debug("a stream ends", "channel", key.channel)
			return
		case err == nil, errors.Is(err, io.EOF):
			s.log.Info("the plugin ended a stream for good", "channel", key.channel)
			return
		}
		if time.Since(started) > s.times.maxBackoff {
			wait = s.times.backoff
		}
		s.log.Warn("a stream broke off and is started again", "channel", key.channel, "wait", wait, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, s.times.maxBackoff)
	}
}

// watchSubscribers returns when the channel had no subscriber several times in a row, or when ctx ends.
func (s *streams) watchSubscribers(ctx context.Context, key streamKey) {
	tick := time.NewTicker(s.times.check)
	defer tick.Stop()
	for missed := 0; missed < s.times.misses; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		missed++
		if s.subscribers(key.channel) > 0 {
			missed = 0
		}
	}
}
