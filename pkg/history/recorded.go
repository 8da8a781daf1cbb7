package history

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const (
	// recordedPattern is how the names of what dashboards/rules records begin.
	recordedPattern = "(gpu|node|serve):.+"
	// recordedSpan is how far back a rule counts as evaluated. Servers answer for whole blocks of theirs, so it may be hours.
	recordedSpan = 10 * time.Minute
)

// Recorded is what a server has lately of series whose names are those of recording rules.
type Recorded struct {
	Endpoint string
	Cluster  string
	Names    []string // sorted; a rule whose expression has no result has no name here
}

// Recorded tells of each server which recording rules it has series of, of replicas of only one. An error means that none
// could say; of one that could not there is a notice.
func (h *History) Recorded(ctx context.Context) ([]Recorded, []gpu.Notice, error) {
	good, notices, err := split(fanOut(ctx, h.endpoints, h.recordedBy))
	if err != nil {
		return nil, notices, err
	}
	list := make([]Recorded, len(good))
	for i, o := range good {
		list[i] = Recorded{Endpoint: o.endpoint.ID, Cluster: o.endpoint.Cluster, Names: o.value}
	}
	slices.SortFunc(list, func(a, b Recorded) int {
		return strings.Compare(a.Cluster+"\xff"+a.Endpoint, b.Cluster+"\xff"+b.Endpoint)
	})
	return list, notices, nil
}

func (h *History) recordedBy(ctx context.Context, e *endpoint) ([]string, error) {
	now := h.options.now()
	names := []string{}
	err := e.list(ctx, "/api/v1/label/__name__/values", url.Values{
		"match[]": {"{" + query.RegexMatcher("__name__", recordedPattern) + "}"},
		"start":   {strconv.FormatInt(now.Add(-recordedSpan).Unix(), 10)},
		"end":     {strconv.FormatInt(now.Unix(), 10)},
		"limit":   {strconv.Itoa(mostNames)},
	}, &names)
	slices.Sort(names)
	return names, err
}
