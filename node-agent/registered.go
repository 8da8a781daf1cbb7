package main

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// registered remembers what was registered with it, so that all of it can be taken back: parts that are replaced leave no
// figures behind, whether they think of it or not.
type registered struct {
	with prometheus.Registerer

	mu         sync.Mutex
	collectors []prometheus.Collector
}

// Register implements prometheus.Registerer.
func (r *registered) Register(c prometheus.Collector) error {
	if err := r.with.Register(c); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectors = append(r.collectors, c)
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *registered) MustRegister(cs ...prometheus.Collector) {
	var errs []error
	for _, c := range cs {
		errs = append(errs, r.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}

// Unregister implements prometheus.Registerer.
func (r *registered) Unregister(c prometheus.Collector) bool { return r.with.Unregister(c) }

// clear takes everything back.
func (r *registered) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.collectors {
		r.with.Unregister(c)
	}
	r.collectors = nil
}
