package forecast

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Limits are the values that forecasts are held against where a query names none, and when they are worth a word.
type Limits struct {
	// Capacity is worth knowing when a pool is expected to be full within CapacityInfoDays, and a warning within the others.
	CapacityInfoDays float64 `json:"capacityInfoDays"`
	CapacityWarnDays float64 `json:"capacityWarnDays"`
	// MemoryRisky is the part of the usable memory above which running out of it is a risk at all.
	MemoryRisky float64 `json:"memoryRisky"`
	// MemoryFlat is how little the used part moves, at most, on a server that took its memory when it started.
	MemoryFlat float64 `json:"memoryFlat"`
	// KVCache is the occupancy of such a server's cache at which it begins to put requests off.
	KVCache float64 `json:"kvCache"`
	// MemoryFull is the part of the usable memory that is all of it.
	MemoryFull float64 `json:"memoryFull"`
	// Margin is the distance to its temperature limit, in °C, at which a GPU slows down.
	Margin float64 `json:"margin"`
	// RetiredPages is how many of both kinds make a board a case for replacement. DCGM fails it at 63.
	RetiredPages float64 `json:"retiredPages"`
}

// DefaultLimits are the limits without settings.
func DefaultLimits() Limits {
	return Limits{
		CapacityInfoDays: 30, CapacityWarnDays: 7,
		MemoryRisky: 0.85, MemoryFlat: 0.02, MemoryFull: 1, KVCache: 0.95,
		Margin: 0, RetiredPages: 63,
	}
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) {
	merged, err := insight.Overlay(l, part)
	return merged, insight.Plain(err)
}

// Validate says which limits make no sense, by their keys.
func (l Limits) Validate() error {
	var all []error
	within := func(key string, v, low, high float64) {
		if !(v >= low && v <= high) {
			all = append(all, fmt.Errorf("%s: %g must be between %g and %g", key, v, low, high))
		}
	}
	within("capacityInfoDays", l.CapacityInfoDays, 0, 400)
	within("capacityWarnDays", l.CapacityWarnDays, 0, l.CapacityInfoDays)
	within("memoryRisky", l.MemoryRisky, 0, 1)
	within("memoryFlat", l.MemoryFlat, 0, 1)
	within("memoryFull", l.MemoryFull, 0, 1)
	within("kvCache", l.KVCache, 0, 1)
	within("margin", l.Margin, 0, 50)
	within("retiredPages", l.RetiredPages, 1, 1000)
	return errors.Join(all...)
}
