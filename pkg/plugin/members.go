package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
)

const (
	// rosterAge is how long a list of members is good, partAge one that lacks a part: the variables of a dashboard ask one
	// after the other.
	rosterAge = 30 * time.Second
	partAge   = 2 * time.Second
	// maxRosters bounds how many lists are kept.
	maxRosters = 32
	// ownersSpan is how far back workloads are looked for when no time range is given.
	ownersSpan = time.Hour
)

// rosters remember who was there in a time range, for each user that Prometheus may show something else. The zero value
// is empty.
type rosters struct {
	mu   sync.Mutex
	kept map[string]*roster
}

type roster struct {
	turn chan struct{} // holds one token while somebody loads

	// Guarded by rosters.mu.
	until, used time.Time
	members     []history.Member
	notices     []gpu.Notice
}

// get returns what is kept under a key, or loads it. Of those that ask at the same time one loads and the others wait;
// when that one gives up the next in line loads.
func (r *rosters) get(ctx context.Context, key string, now time.Time, load func(context.Context) ([]history.Member, []gpu.Notice, error)) (
	[]history.Member, []gpu.Notice, error,
) {
	known := r.entry(key, now)
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case known.turn <- struct{}{}:
	}
	defer func() { <-known.turn }()
	r.mu.Lock()
	members, notices, fresh := known.members, known.notices, now.Before(known.until)
	r.mu.Unlock()
	if fresh {
		return members, notices, nil
	}
	members, notices, err := load(ctx)
	if err != nil {
		return nil, nil, err
	}
	age := rosterAge
	if len(notices) > 0 {
		age = partAge
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known.members, known.notices, known.until = members, notices, now.Add(age)
	return members, notices, nil
}

// entry is the place of a key. When there are too many the one that was not used for longest goes.
func (r *rosters) entry(key string, now time.Time) *roster {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]*roster{}
	}
	known, ok := r.kept[key]
	if !ok {
		if len(r.kept) >= maxRosters {
			oldest := ""
			for other, candidate := range r.kept {
				if oldest == "" || candidate.used.Before(r.kept[oldest].used) {
					oldest = other
				}
			}
			delete(r.kept, oldest)
		}
		known = &roster{turn: make(chan struct{}, 1)}
		r.kept[key] = known
	}
	known.used = now
	return known
}

// members are the devices of a variable's time range with their workloads. Without a range the devices there are now
// are enough, unless workloads are asked for or chosen by.
func (d *Datasource) members(ctx context.Context, q variableQuery) ([]history.Member, []gpu.Notice, error) {
	if d.broken != nil {
		return nil, nil, d.unusable()
	}
	now := d.now()
	if q.from.IsZero() && !ofOwners(q.kind) && !q.scope.ByOwner() {
		devices, notices, err := d.devices(ctx)
		return membersOf(devices), notices, err
	}
	from, to := q.from, q.to
	if from.IsZero() {
		from, to = now.Add(-ownersSpan), now
	}
	// Whole minutes, so that the variables of a dashboard, and its next refresh, share what was asked.
	from, to = from.Truncate(time.Minute), to.Add(time.Minute-1).Truncate(time.Minute)
	key := fmt.Sprintf("%s %d %d %s", tenantOf(ctx), from.Unix(), to.Unix(), strings.Join(q.scope.Clusters, "\xff"))
	members, notices, err := d.rosters.get(ctx, key, now, func(ctx context.Context) ([]history.Member, []gpu.Notice, error) {
		return d.history.Members(ctx, q.scope, from, to)
	})
	if err != nil {
		return nil, nil, err
	}
	if now.Sub(to) < recentPast {
		members = withAgents(members, d.live.Devices())
	}
	return members, notices, nil
}

func membersOf(devices []gpu.Device) []history.Member {
	members := make([]history.Member, len(devices))
	for i, device := range devices {
		members[i].Device = device
	}
	return members
}

// withAgents adds the devices that only agents know. They do not know who owns them.
func withAgents(members []history.Member, devices []gpu.Device) []history.Member {
	known := make(map[board]bool, len(members))
	for _, m := range members {
		known[boardOf(m.Device)] = true
	}
	all := members[:len(members):len(members)]
	for _, device := range devices {
		if !known[boardOf(device)] {
			all = append(all, history.Member{Device: device})
		}
	}
	return all
}
