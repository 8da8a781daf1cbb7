package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
)

const (
	// rosterAge is how long a list of members is good: the variables of a dashboard ask one after the other.
	rosterAge = 30 * time.Second
	// maxRosters bounds how many lists are kept.
	maxRosters = 32
	// ownersSpan is how far back workloads are looked for when no time range is given.
	ownersSpan = time.Hour
)

// rosters remember who was there in a time range, for each user that Prometheus may show something else. The zero value
// is empty.
type rosters struct {
	flight singleflight.Group
	mu     sync.Mutex
	kept   map[string]roster
}

type roster struct {
	members []history.Member
	notices []gpu.Notice
	at      time.Time
}

// get returns what is kept under a key, or loads it once for all that ask at the same time. A load goes on, within its
// own time limit, when the one who began it gives up.
func (r *rosters) get(ctx context.Context, key string, now time.Time, load func(context.Context) (roster, error)) (roster, error) {
	r.mu.Lock()
	known, ok := r.kept[key]
	r.mu.Unlock()
	if ok && now.Sub(known.at) < rosterAge {
		return known, nil
	}
	loaded := r.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resourceTimeout)
		defer cancel()
		got, err := load(ctx)
		if err != nil {
			return roster{}, err
		}
		got.at = now
		r.keep(key, got, now)
		return got, nil
	})
	select {
	case <-ctx.Done():
		return roster{}, ctx.Err()
	case result := <-loaded:
		got, _ := result.Val.(roster)
		return got, result.Err
	}
}

func (r *rosters) keep(key string, got roster, now time.Time) {
	if len(got.notices) > 0 {
		return // what is missing now may be there the next time
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]roster{}
	}
	for old, known := range r.kept {
		if now.Sub(known.at) >= rosterAge {
			delete(r.kept, old)
		}
	}
	if len(r.kept) < maxRosters {
		r.kept[key] = got
	}
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
	got, err := d.rosters.get(ctx, key, now, func(ctx context.Context) (roster, error) {
		members, notices, err := d.history.Members(ctx, q.scope, from, to)
		return roster{members: members, notices: notices}, err
	})
	if err != nil {
		return nil, nil, err
	}
	members := got.members
	if now.Sub(to) < recentPast {
		members = withAgents(members, d.live.Devices())
	}
	return members, got.notices, nil
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
