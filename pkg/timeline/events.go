package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// eventSkew is how much later than history's an agent's event may be and still be the same.
const eventSkew = 2 * time.Second

// MergeEvents joins what agents saw happen with what was read out of history, in the order of time. An event of history is
// left out when an agent tells of the same: of that device, kind and XID, at most precision before history's time, which is
// that of the first scrape that shows it. Of an agent's own events none is left out, but for repetitions of one number.
func MergeEvents(live, history []gpu.Event, precision time.Duration) []gpu.Event {
	seen := map[eventKey][]gpu.Event{}
	merged := make([]gpu.Event, 0, len(live)+len(history))
	type number struct {
		place string
		seq   uint64
		time  int64
	}
	numbers := map[number]bool{}
	for _, e := range live {
		if n := (number{e.Device.Cluster + "\xff" + e.Device.Node, e.Seq, e.Time.UnixMilli()}); e.Seq != 0 {
			if numbers[n] {
				continue
			}
			numbers[n] = true
		}
		seen[keyOfEvent(e)] = append(seen[keyOfEvent(e)], e)
		merged = append(merged, e)
	}
	for _, e := range history {
		told := slices.ContainsFunc(seen[keyOfEvent(e)], func(l gpu.Event) bool {
			before := e.Time.Sub(l.Time)
			return before >= -eventSkew && before <= precision+eventSkew
		})
		if !told {
			merged = append(merged, e)
		}
	}
	slices.SortStableFunc(merged, CompareEvents)
	return merged
}

// CompareEvents orders by time, and at one time by device, kind and XID.
func CompareEvents(a, b gpu.Event) int {
	return cmp.Or(a.Time.Compare(b.Time), a.Device.Compare(b.Device.Identity), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.XID, b.XID))
}

// eventKey is what events of the same thing have in common. Instances are not told apart, because most series are of boards;
// nodes are called differently by each exporter, and count only where there is nothing else.
type eventKey struct {
	cluster, uuid, node, kind string
	xid                       uint64
}

func keyOfEvent(e gpu.Event) eventKey {
	k := eventKey{cluster: e.Device.Cluster, uuid: e.Device.UUID, kind: e.Kind, xid: e.XID}
	if k.uuid == "" {
		k.node = e.Device.Node
	}
	return k
}
