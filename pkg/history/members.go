package history

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// maxMembers bounds what one server is asked for.
const maxMembers = 500_000

// Member is a device and, where an exporter tells, a workload that it was given to.
type Member struct {
	Device gpu.Device
	Owner  catalog.Owner
}

// Members lists the GPUs and MIG instances of which the servers of the scope's clusters have a sample between two times,
// each once for each workload that it had then, in the order of their place. Of the scope only the clusters count. The
// notices tell of servers that failed; the error is that all did.
func (h *History) Members(ctx context.Context, scope query.Scope, from, to time.Time) ([]Member, []gpu.Notice, error) {
	endpoints, notices := h.inScope(scope)
	if len(endpoints) == 0 {
		return nil, notices, nil
	}
	good, failed, err := split(fanOutSoon(ctx, endpoints, func(ctx context.Context, e *endpoint) ([]found, error) {
		return h.found(ctx, e, from, to)
	}))
	notices = append(notices, failed...)
	if err != nil {
		return nil, notices, err
	}
	type membership struct {
		key   deviceKey
		owner catalog.Owner
	}
	all := roster{}
	owners := map[membership]bool{}
	owned := map[deviceKey]bool{}
	for _, o := range good {
		for _, f := range o.value {
			f.id.Device.Cluster = o.endpoint.Cluster
			all.add(f.id, f.rank)
			f.id.Owner.Container = ""
			if f.id.Owner != (catalog.Owner{}) {
				key := keyOf(f.id.Device)
				owners[membership{key, f.id.Owner}] = true
				owned[key] = true
			}
		}
	}
	all.complete()
	var members []Member
	for key, known := range all {
		if !owned[key] {
			members = append(members, Member{Device: known.device})
		}
	}
	for m := range owners {
		members = append(members, Member{Device: all[m.key].device, Owner: m.owner})
	}
	slices.SortFunc(members, compareMembers)
	return members, notices, nil
}

func compareMembers(a, b Member) int {
	if c := compareDevices(a.Device, b.Device); c != 0 {
		return c
	}
	left := [...]string{a.Owner.Namespace, a.Owner.Pod, a.Owner.Job}
	right := [...]string{b.Owner.Namespace, b.Owner.Pod, b.Owner.Job}
	return slices.Compare(left[:], right[:])
}

// found is what one series tells.
type found struct {
	id   catalog.Identified
	rank int // of its dialect
}

// found asks one server for the label sets there were, without their samples.
func (h *History) found(ctx context.Context, e *endpoint, from, to time.Time) ([]found, error) {
	words, err := h.words(ctx, e)
	if err != nil {
		return nil, err
	}
	ranks := map[string]int{}
	var names []string
	for _, dialect := range h.catalog.Dialects() {
		for _, name := range h.presence(words, dialect) {
			if _, known := ranks[name]; !known {
				ranks[name] = h.catalog.Rank(dialect)
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	resp, body, err := e.fetch(ctx, "/api/v1/series", url.Values{
		"match[]": {selectNames(names)}, "start": {timestamp(from)}, "end": {timestamp(to)}, "limit": {strconv.Itoa(maxMembers)},
	})
	if err != nil {
		return nil, err
	}
	var list struct {
		Status    string          `json:"status"`
		ErrorType string          `json:"errorType"`
		Error     string          `json:"error"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, e.answerError(resp, body, jsonProblem(body, err))
	}
	switch list.Status {
	case "success":
	case "error":
		return nil, e.refusal(resp.StatusCode, list.ErrorType, list.Error)
	default:
		return nil, e.answerError(resp, body, nil)
	}
	var all []found
	sets := newDecoder(list.Data)
	if sets.null() || len(list.Data) == 0 {
		return all, nil
	}
	if err := sets.array(func() error {
		labels, err := sets.metric()
		if err != nil {
			return err
		}
		if id, ok := h.catalog.Resolve(labels); ok {
			all = append(all, found{id: id, rank: ranks[labels.Get("__name__")]})
		}
		return nil
	}); err != nil {
		return nil, e.answerError(resp, body, err)
	}
	return all, nil
}
