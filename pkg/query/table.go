package query

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// DefaultRows is how many rows a table has at most when a query does not say, MaxRowsLimit what it may say.
const (
	DefaultRows  = 10_000
	MaxRowsLimit = 500_000
)

// DefaultMinDuration is how long a throttling must last to be shown when a query does not say.
const DefaultMinDuration = 10 * time.Second

// EventKinds are the kinds of events that a query may choose, in the order that editors list them.
func EventKinds() []string {
	return []string{
		gpu.KindXID, gpu.KindThrottle, gpu.KindECCUncorrected, gpu.KindECCCorrected, gpu.KindECCStorm, gpu.KindMIGLayoutChanged, gpu.KindLost,
		gpu.KindReturned, gpu.KindUnavailable, gpu.KindPageRetired, gpu.KindPageRetirementFailed, gpu.KindPoisonContained, gpu.KindPoisonUncontained,
		gpu.KindRecoveryAction, gpu.KindClocksChanged, gpu.KindPowerSourceChanged, gpu.KindLogMatched, gpu.KindOwnerChanged, gpu.KindAlert, gpu.KindSilence,
	}
}

// Rows is how many rows the query's table has at most.
func (q Query) Rows() int {
	if q.MaxRows > 0 {
		return q.MaxRows
	}
	return DefaultRows
}

// Shortest is how long what lasts must last to be an event of the query.
func (q Query) Shortest() time.Duration {
	if q.MinDuration > 0 {
		return q.MinDuration
	}
	return DefaultMinDuration
}

// WantsKind reports whether events of a kind are part of the answer.
func (q Query) WantsKind(kind string) bool {
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, kind)
}

// validatedTable checks a query whose answer is a table and forgets what such a query does not use.
func (q Query) validatedTable() (Query, error) {
	kept := Query{
		RefID: q.RefID, Type: q.Type, Scope: q.Scope, Filters: q.Filters, AggregateBy: ByIdentity, Source: q.Source, Live: q.Live,
		MaxRows: q.MaxRows, Format: FormatTimeSeries, MinStep: q.MinStep,
	}
	switch q.Type {
	case TypeProcesses:
		if q.Source == SourceHistory {
			return Query{}, fmt.Errorf(`field "source": Prometheus knows no processes, agents do; use %s`, oneOf([]string{SourceAuto, SourceLive}))
		}
		kept.Source = SourceLive
	case TypeEvents:
		for _, kind := range q.Kinds {
			if !slices.Contains(EventKinds(), kind) {
				return Query{}, fmt.Errorf(`field "kinds": %q is not known; use %s`, shorten(kind), oneOf(EventKinds()))
			}
		}
		kept.Kinds, kept.MinDuration, kept.Options = normal(q.Kinds), q.MinDuration, q.Options
	}
	return kept, nil
}

// tables adds what is special about queries for tables to a canonical form.
func (q Query) tables(doc *document) {
	doc.MaxRows, doc.Kinds, doc.Options = q.MaxRows, q.Kinds, q.Options
	if q.Type != TypeProcesses {
		doc.Source = unless(q.Source, SourceAuto)
	}
	if !q.Live {
		doc.Live = new(bool)
	}
	if q.MinDuration > 0 {
		doc.MinDuration = model.Duration(q.MinDuration).String()
	}
}

// WithoutOwners is the scope without what it selects by owner.
func (s Scope) WithoutOwners() (Scope, error) {
	s.Namespaces, s.Pods, s.Jobs = nil, nil, nil
	s.filters = slices.DeleteFunc(slices.Clone(s.filters), func(f Filter) bool {
		d, err := dimensionOf(f.Key)
		return err == nil && d.ofOwner()
	})
	return s.Compile()
}

// OfGPUs is the scope narrowed to some GPUs, all of which it selects.
func (s Scope) OfGPUs(uuids []string) (Scope, error) {
	s.GPUs = uuids
	return s.Compile()
}

// OfNodes is the scope narrowed to some nodes, all of which it selects.
func (s Scope) OfNodes(nodes []string) (Scope, error) {
	s.Nodes = nodes
	return s.Compile()
}

// MatchesOwners reports whether the scope selects one of the owners of a device, or one without any. A pod and a batch job that have the
// same device are taken for one workload.
func (s Scope) MatchesOwners(owners []gpu.Owner) bool {
	if !s.ByOwner() {
		return true
	}
	pods, jobs := []gpu.Owner{}, []string{}
	for _, o := range owners {
		if o.Pod != "" {
			pods = append(pods, o)
		}
		if o.SlurmJob != "" {
			jobs = append(jobs, o.SlurmJob)
		}
	}
	if len(pods) == 0 {
		pods = append(pods, gpu.Owner{})
	}
	if len(jobs) == 0 {
		jobs = append(jobs, "")
	}
	for _, o := range pods {
		for _, job := range jobs {
			if s.MatchesOwner(o.Namespace, o.Pod, job) {
				return true
			}
		}
	}
	return false
}
