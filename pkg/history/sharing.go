package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// sharing tells which of the answer's GPUs several pods share, for a scope of pods: exporters copy the whole GPU's value
// to each of them.
func (h *History) sharing(ctx context.Context, endpoints []*endpoint, r *reduction) []gpu.Notice {
	if len(r.order) == 0 {
		return nil
	}
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (map[deviceKey]map[string]bool, error) {
		return h.pods(ctx, e, r)
	})
	good, _, err := split(outcomes)
	if err != nil {
		return []gpu.Notice{{Severity: gpu.Info, Text: "Whether pods share these GPUs is not known: " + err.Error() + "."}}
	}
	pods := map[deviceKey]map[string]bool{}
	for _, o := range good {
		for key, names := range o.value {
			for name := range names {
				if pods[key] == nil {
					pods[key] = map[string]bool{}
				}
				pods[key][name] = true
			}
		}
	}
	var shared []string
	for _, key := range r.order {
		if n := len(pods[key]); n > 1 {
			shared = append(shared, fmt.Sprintf("%s by %d pods", r.device(key).Name(), n))
		}
	}
	if len(shared) == 0 {
		return nil
	}
	slices.Sort(shared)
	return []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
		"Shared: %s. A value is the whole device's, not one pod's, unless the exporter tells pods apart.", listed(shared))}}
}

// pods are the owners of the answer's devices now, on one server.
func (h *History) pods(ctx context.Context, e *endpoint, r *reduction) (map[deviceKey]map[string]bool, error) {
	words, err := h.words(ctx, e)
	if err != nil {
		return nil, err
	}
	p := h.plan(words, r.metric)
	if len(p.names) == 0 {
		return nil, nil
	}
	scope := query.Scope{}
	for _, key := range r.order {
		scope.GPUs = append(scope.GPUs, key.uuid())
	}
	var labels []string
	for _, name := range words.labels {
		if slices.Contains(h.catalog.IdentityLabels(), name) {
			labels = append(labels, name)
		}
	}
	alternatives := h.pushDown(scope, words, nil)
	if len(alternatives) == 0 {
		return nil, nil
	}
	expr := ""
	for i, matchers := range alternatives {
		if i > 0 {
			expr += " or "
		}
		expr += fmt.Sprintf("group by (%s) (%s)", query.QuoteLabels(labels), selectMatching(p.names, matchers))
	}
	a, err := e.query(ctx, instantPath, url.Values{"query": {expr}, "time": {fmt.Sprint(r.grid.times[len(r.grid.times)-1] / 1000)}})
	if err != nil {
		return nil, err
	}
	pods := map[deviceKey]map[string]bool{}
	for _, s := range a.Series {
		id, ok := h.catalog.Resolve(s.Labels)
		if !ok || id.Owner.Pod == "" {
			continue
		}
		id.Device.Cluster = e.Cluster
		key := keyOf(id.Device)
		if !r.metric.PerInstance {
			key = key.parent()
		}
		if pods[key] == nil {
			pods[key] = map[string]bool{}
		}
		pods[key][id.Owner.Namespace+"/"+id.Owner.Pod] = true
	}
	return pods, nil
}
