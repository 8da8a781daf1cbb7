package history

import (
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Recording rules of dashboards/rules are called gpu:<metric>:<what>_by_<level>, with the canonical metric's name after gpu_.
const (
	rollupPattern = "gpu:[a-z_]+:(sum|count|max|min|p95)_by_(node|cluster|job)"
	levelNode     = "node"
	levelCluster  = "cluster"
	levelJob      = "job"
)

// rollupName is the name of a recording rule's series.
func rollupName(metric, what, level string) string {
	return "gpu:" + strings.TrimPrefix(metric, "gpu_") + ":" + what + "_by_" + level
}

// recordedFrom are the series that the rules of a metric read, nil for a metric without rules. A server that has others of the
// metric knows devices that the rules do not.
func recordedFrom(metric string) []string {
	switch metric {
	case "gpu_utilization_ratio":
		return []string{metric, "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", "nvidia_smi_utilization_gpu_ratio"}
	case "gpu_sm_active_ratio":
		return []string{metric, "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"}
	case "gpu_tensor_active_ratio":
		return []string{metric, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"}
	case "gpu_memory_used_bytes":
		return []string{metric, "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_USED_BYTES", "nvidia_smi_memory_used_bytes"}
	case "gpu_power_watts":
		return []string{metric, "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", "nvidia_smi_power_draw_average_watts",
			"nvidia_smi_power_draw_watts"}
	case "gpu_temperature_celsius":
		return []string{metric, "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "nvidia_smi_temperature_gpu"}
	case "gpu_sm_clock_hertz":
		return []string{metric, "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_SM_CLOCK_HERTZ", "nvidia_smi_clocks_current_sm_clock_hz"}
	}
	return nil
}

// quantileRule is the quantile over devices that is recorded. That of a group is none of those of its parts.
const quantileRule = "p95"

// rollupParts are the rules that a value is made of: an average of sum and count, so that it is exact however many devices
// each node has. The count is always asked for, because it says what a line stands for.
func rollupParts(aggregation string) []string {
	switch aggregation {
	case "avg":
		return []string{"sum", "count"}
	case "sum", "max", "min", quantileRule:
		return []string{aggregation, "count"}
	}
	return nil
}

// ruleInterval is how far apart rules are evaluated.
const ruleInterval = time.Minute

// overRules is how what was recorded in a step becomes one value, "" where the newest counts.
func overRules(w query.Window) string {
	if w.Step < 2*ruleInterval {
		return ""
	}
	return bracketed(w.Step)
}

// expr asks for the rules, each with all that was recorded in a step. The number of devices is a mean, so that a mean of them
// is that of all values.
func (r rollupQuestion) expr(matchers []string) string {
	span := overRules(r.window)
	if span == "" {
		return selectNames(r.names, matchers...)
	}
	var parts []string
	for _, name := range r.names {
		function := catalog.OverTimeMean
		for _, extreme := range []string{catalog.OverTimeMax, catalog.OverTimeMin} {
			if strings.Contains(name, ":"+extreme+"_by_") {
				function = extreme
			}
		}
		parts = append(parts, tagged(function+"_over_time("+selectNames([]string{name}, matchers...)+span+")", name))
	}
	return strings.Join(parts, " or ")
}

// nameOfRule is the rule that a series of an answer is of.
func nameOfRule(s rawSeries) string {
	if name := s.Labels.Get(tag); name != "" {
		return name
	}
	return s.Labels.Get("__name__")
}

// rollupLevel is the level whose rules answer a query: that of clusters where no node is told apart.
func rollupLevel(q query.Query) string {
	if ofOwners(q) {
		return levelJob
	}
	if q.AggregateBy == query.ByNode || q.Scope.SelectsNodes() {
		return levelNode
	}
	return levelCluster
}

// ofOwners reports whether lines are of what runs on the devices.
func ofOwners(q query.Query) bool {
	return q.AggregateBy == query.ByNamespace || q.AggregateBy == query.ByJob
}

// ownerGroup are the labels of the line that a series of a job's rule is part of, false for one that is of none.
func ownerGroup(q query.Query, cluster string, labels labelSet) (map[string]string, bool) {
	namespace, pod, job := labels.Get("namespace"), labels.Get("pod"), labels.Get("job_id")
	name, value := "namespace", namespace
	if q.AggregateBy == query.ByJob {
		name, value = "job", job
	}
	if value == "" || !q.Scope.MatchesOwner(namespace, pod, job) {
		return nil, false
	}
	group := map[string]string{name: value}
	if cluster != "" {
		group["cluster"] = cluster
	}
	return group, true
}

// recorded reports whether a server's rules know all that its exporters say of a metric.
func (v vocabulary) recorded(p plan, names []string, byModel bool) bool {
	for _, name := range names {
		if !v.series[name] {
			return false
		}
	}
	known := recordedFrom(p.metric.Name)
	for name, w := range p.wants {
		if w.role == substitute {
			continue // for MIG instances, which the caller looks for
		}
		if !slices.Contains(known, name) || byModel && w.source.Dialect == catalog.NvidiaSMI {
			return false // nvidia_gpu_exporter has no model beside its values
		}
	}
	return true
}
