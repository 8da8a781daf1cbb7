package memory

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Batch is how much larger a batch would fit.
type Batch struct {
	Factor float64 // times the batch of now; below 1 when even that leaves less than the reserve
	Size   float64 // whole samples on each GPU; 0 when the batch of now was not told
	// Assumption says what the estimate rests on, for people.
	Assumption string
}

// leastPeak is the peak share below which a factor says nothing: the GPU is hardly used.
const leastPeak = 0.1

// batch estimates that activations grow with the batch and nothing else does. Where it is not known what does not grow, all
// of the memory is taken to grow, so that the estimate is too small and never too large.
func (s *subject) batch() *Batch {
	if s.isServer() || !s.owned && s.options.Batch == 0 || s.usage.UsableBytes == nil || s.usage.PeakRatio == nil || *s.usage.PeakRatio < leastPeak {
		return nil
	}
	a := s.allocated()
	needs := *s.usage.PeakBytes
	limit := *s.usage.UsableBytes * (1 - s.limits.BatchReserve)
	fixed, assumption := s.options.StaticBytes, "activations grow with the batch, and "+size(s.options.StaticBytes)+" do not"
	if a != nil && a.PeakBytes != nil && *a.PeakBytes > 0 && *a.PeakBytes <= needs {
		// What is used beside the tensors are contexts and the allocator's cache; the cache can be given back.
		if a.HeldBytes != nil && *a.HeldBytes <= needs {
			limit -= needs - *a.HeldBytes
		}
		needs = *a.PeakBytes
		if fixed == 0 && a.LeastBytes != nil && *a.LeastBytes < needs*0.98 {
			fixed = *a.LeastBytes
			assumption = "activations grow with the batch, and the least that was in tensors, " + size(fixed) + ", does not"
		}
	} else if s.flat {
		return nil // taken in one piece: nobody knows what is needed
	}
	if fixed <= 0 || fixed >= needs {
		fixed, assumption = 0, "all of the memory grows with the batch, which errs on the safe side"
	}
	factor := (limit - fixed) / (needs - fixed)
	if math.IsNaN(factor) || factor < 0 || factor > 1e6 {
		return nil
	}
	b := &Batch{Factor: factor}
	if s.options.Batch > 0 {
		b.Size = math.Floor(s.options.Batch * factor)
		b.Assumption = fmt.Sprintf("The batch is %g now; ", s.options.Batch)
	} else {
		b.Assumption = "The batch of now is not known, so this is a factor; "
	}
	b.Assumption += assumption + fmt.Sprintf("; %s stay free.", percent(s.limits.BatchReserve))
	if s.Class == insight.Unclassified && a == nil {
		b.Assumption += " Whether it trains is not known."
	}
	return b
}
