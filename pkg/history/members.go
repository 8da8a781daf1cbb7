package history

import (
	"context"
	"errors"
	"net/http"
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
			all.add(f.who.id, f.rank)
			owner := f.who.id.Owner
			owner.Container = ""
			if owner != (catalog.Owner{}) {
				owners[membership{f.who.key, owner}] = true
				owned[f.who.key] = true
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
	who  *bearer
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
	var all []found
	told := map[found]bool{}
	file := e.cardfile(ctx)
	if file == nil {
		file = &cardfile{cards: map[string]*card{}} // most devices have several of the names
	}
	err = e.eachSet(ctx, url.Values{
		"match[]": {selectNames(names)}, "start": {timestamp(from)}, "end": {timestamp(to)}, "limit": {strconv.Itoa(maxMembers)},
	}, file, func(labels labelSet) {
		f := found{h.bearer(e, labels), ranks[labels.Get("__name__")]}
		if f.who.named && (labels.shared == nil || !told[f]) {
			told[f] = labels.shared != nil
			all = append(all, f)
		}
	})
	return all, err
}

// eachSet asks for a list of label sets.
func (e *endpoint) eachSet(ctx context.Context, form url.Values, file *cardfile, take func(labelSet)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, errSlow)
	defer cancel()
	return e.stream(ctx, "/api/v1/series", form, func(resp *http.Response, w *textWindow) error {
		status, errorType, message, err := decodeSets(w, file, take)
		switch {
		case err == nil && status == "success":
			return nil
		case status == "error" && !errors.Is(err, errTruncated):
			return e.refusal(resp, errorType, message)
		}
		return e.answerError(resp, w.begin(), err)
	})
}

// decodeSets reads the answer of series, which is one of the label sets or says what is wrong.
func decodeSets(w *textWindow, file *cardfile, take func(labelSet)) (status, errorType, message string, err error) {
	d := newDecoder(w)
	d.cards = &cardReader{file: file, next: file.first.Load()}
	err = d.read(func() error {
		err := d.object(func(key []byte) (err error) {
			switch string(key) {
			case "status":
				status, err = d.text()
			case "errorType":
				errorType, err = d.text()
			case "error":
				message, err = d.text()
			case "data":
				if d.null() {
					return nil
				}
				err = d.elements(func() error {
					labels, err := d.metric()
					if err == nil {
						take(labels)
					}
					return err
				})
			default:
				err = d.skip()
			}
			return err
		})
		if err != nil {
			return err
		}
		return d.end()
	})
	return status, errorType, message, err
}
