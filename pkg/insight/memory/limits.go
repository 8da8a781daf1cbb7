package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Limits are what memory is held against. Shares are from 0 to 1.
type Limits struct {
	// Risk is the used share of usable memory from which growth is looked at.
	Risk float64 `json:"risk"`
	// TrendMinutes are looked back on for growth, and ahead for when memory is full.
	TrendMinutes float64 `json:"trendMinutes"`
	// TrendChance is how often memory that does not grow may look as if it did.
	TrendChance float64 `json:"trendChance"`
	// NearFull is the peak from which a larger batch will hardly fit.
	NearFull float64 `json:"nearFull"`

	// Fragmented is the share of what the allocator holds and never had in tensors at one time, or holds in split blocks that it
	// cannot give back.
	Fragmented    float64 `json:"fragmented"`
	InactiveSplit float64 `json:"inactiveSplit"`

	CacheFull    float64 `json:"cacheFull"`    // share of the cache of keys and values, mean of CacheMinutes
	CacheMinutes float64 `json:"cacheMinutes"` // for the cache and for who waits
	Waiting      float64 `json:"waiting"`      // requests, mean of CacheMinutes

	ZombieBytes   float64 `json:"zombieBytes"` // held without owner and activity, all of ZombieMinutes
	ZombieMinutes float64 `json:"zombieMinutes"`
	NoActivity    float64 `json:"noActivity"` // activity below which a GPU does nothing at all

	IdleActivity float64 `json:"idleActivity"` // mean activity of IdleMinutes below which memory is held for little
	IdleHeld     float64 `json:"idleHeld"`     // used share of usable memory that is worth a word
	IdleMinutes  float64 `json:"idleMinutes"`

	// Preallocated is the used share from which memory that does not move by more than Flat was taken in one piece.
	Preallocated float64 `json:"preallocated"`
	Flat         float64 `json:"flat"`

	// BatchReserve is the share of usable memory that an estimate of a larger batch leaves free.
	BatchReserve float64 `json:"batchReserve"`
}

// DefaultLimits are the limits when none are set.
func DefaultLimits() Limits {
	const gibibyte = 1 << 30
	return Limits{
		Risk: 0.85, TrendMinutes: 30, TrendChance: 0.01, NearFull: 0.92,
		Fragmented: 0.3, InactiveSplit: 0.15,
		CacheFull: 0.95, CacheMinutes: 5, Waiting: 3,
		ZombieBytes: 2 * gibibyte, ZombieMinutes: 30, NoActivity: 0.05,
		IdleActivity: 0.1, IdleHeld: 0.5, IdleMinutes: 15,
		Preallocated: 0.7, Flat: 0.005,
		BatchReserve: 0.05,
	}
}

// Validate says which limits make no sense, by their keys.
func (l Limits) Validate() error {
	var errs []error
	check := func(low, high float64, values map[string]float64) {
		for key, v := range values {
			if math.IsNaN(v) || v < low || v > high {
				errs = append(errs, fmt.Errorf("%s: %g must be from %g to %g", key, v, low, high))
			}
		}
	}
	check(0, 1, map[string]float64{
		"risk": l.Risk, "nearFull": l.NearFull, "fragmented": l.Fragmented, "inactiveSplit": l.InactiveSplit, "cacheFull": l.CacheFull,
		"noActivity": l.NoActivity, "idleActivity": l.IdleActivity, "idleHeld": l.IdleHeld, "preallocated": l.Preallocated,
		"flat": l.Flat, "batchReserve": l.BatchReserve,
	})
	check(1e-9, 0.5, map[string]float64{"trendChance": l.TrendChance})
	const week = 7 * 24 * 60
	check(1, week, map[string]float64{
		"trendMinutes": l.TrendMinutes, "cacheMinutes": l.CacheMinutes, "zombieMinutes": l.ZombieMinutes, "idleMinutes": l.IdleMinutes,
	})
	check(0, 1e15, map[string]float64{"waiting": l.Waiting, "zombieBytes": l.ZombieBytes})
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) { return insight.Overlay(l, part) }

// Options are what a query may say.
type Options struct {
	// Limits in part; what is not there is that of the settings.
	Limits json.RawMessage `json:"limits,omitempty"`
	// Batch is how many samples each GPU works on at once now, 0 when that is not known. Estimates are then factors alone.
	Batch float64 `json:"batch,omitempty"`
	// StaticBytes is what each GPU needs whatever the batch: weights, gradients, optimizer. 0 when it is not known.
	StaticBytes float64 `json:"staticBytes,omitempty"`
}

// Validate says what makes no sense, by its key.
func (o Options) Validate() error {
	var errs []error
	for _, number := range []struct {
		key   string
		value float64
	}{{"batch", o.Batch}, {"staticBytes", o.StaticBytes}} {
		if !plausible(number.value) {
			errs = append(errs, fmt.Errorf("%s: %g must be from 0 to %g", number.key, number.value, float64(most)))
		}
	}
	return errors.Join(errs...)
}

// Resolve checks the options and puts the limits of a query over those of the settings.
func (o Options) Resolve(base Limits) (Limits, error) {
	if err := o.Validate(); err != nil {
		return base, err
	}
	limits, err := base.Merge(o.Limits)
	if err != nil {
		return base, fmt.Errorf("limits: %w", err)
	}
	return limits, nil
}
