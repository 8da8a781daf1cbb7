package otlp

import (
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	common "go.opentelemetry.io/proto/otlp/common/v1"
)

// resourceLabel is a label and the resource attributes that it is taken from, the first that is there.
type resourceLabel struct {
	label string
	from  []string
}

// resourceLabels are all that is taken of a resource: the other attributes would only multiply series.
func resourceLabels() []resourceLabel {
	return []resourceLabel{
		{"instance", []string{"service.instance.id"}},
		{"node", []string{"k8s.node.name", "node"}},
		{"cluster", []string{"k8s.cluster.name", "cluster"}},
		{"namespace", []string{"k8s.namespace.name", "namespace"}},
		{"pod", []string{"k8s.pod.name", "pod"}},
		{"container", []string{"k8s.container.name", "container"}},
		{"job_id", []string{"job_id", "job.id", "slurm.job.id", "slurm.job_id", "slurm_job_id", "SLURM_JOB_ID", "k8s.job.name"}},
		{"user", []string{"slurm.user", "slurm.job.user", "user"}},
		{"rank", []string{"rank", "torch.rank", "distributed.rank", "process.rank", "slurm.procid"}},
		{"local_rank", []string{"local_rank", "torch.local_rank", "distributed.local_rank", "slurm.localid"}},
		{"gpu", []string{"gpu", "gpu.index"}},
		{"gpu_uuid", []string{"gpu_uuid", "gpu.uuid"}},
	}
}

// labelSet is labels by name.
type labelSet map[string]string

// resource finds a resource's labels. A host of another name is most often a container's id: it is kept beside the node.
func (t *translation) resource(attributes []*common.KeyValue) labelSet {
	have := map[string]string{}
	for _, kv := range attributes {
		have[kv.GetKey()] = text(kv.GetValue(), maxValueDepth)
	}
	set := labelSet{}
	for _, l := range resourceLabels() {
		for _, key := range l.from {
			if have[key] != "" {
				set[l.label] = have[key]
				break
			}
		}
	}
	if t.node != "" && sameHost(set["node"], t.node) {
		delete(set, "node")
	}
	if host := have["host.name"]; host != "" && !sameHost(host, t.node) && !sameHost(host, set["node"]) {
		set["host_name"] = host
	}
	if job := have["service.name"]; job != "" {
		if namespace := have["service.namespace"]; namespace != "" {
			job = namespace + "/" + job
		}
		set["job"] = job
	}
	return set
}

// sameHost compares names of hosts, either of which may lack its domain.
func sameHost(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b || strings.HasPrefix(a, b+".") && b != "" || strings.HasPrefix(b, a+".") && a != ""
}

// point adds a point's attributes, which win over the resource's labels. Attributes whose names become one are joined, as
// OpenTelemetry's specification has it.
func (s labelSet) point(attributes []*common.KeyValue) labelSet {
	namer := otlptranslator.LabelNamer{}
	sorted := slices.Clone(attributes)
	slices.SortStableFunc(sorted, func(a, b *common.KeyValue) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	own := labelSet{}
	for _, kv := range sorted {
		name, err := namer.Build(kv.GetKey())
		if err != nil {
			name = kv.GetKey() // the store says what is wrong with it
		}
		value := text(kv.GetValue(), maxValueDepth)
		if before, is := own[name]; is {
			value = before + ";" + value
		}
		own[name] = value
	}
	for name, value := range s {
		if _, is := own[name]; !is {
			own[name] = value
		}
	}
	return own
}

// pairs are the labels, sorted.
func (s labelSet) pairs() []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, 0, len(s))
	for name, value := range s {
		pairs = append(pairs, &dto.LabelPair{Name: &name, Value: &value})
	}
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return pairs
}

// key tells sets apart.
func (s labelSet) key() string {
	var b strings.Builder
	for _, p := range s.pairs() {
		b.WriteString(strconv.Quote(p.GetName()) + strconv.Quote(p.GetValue()))
	}
	return b.String()
}

const maxValueDepth = 3

// text is an attribute's value as a label's.
func text(v *common.AnyValue, depth int) string {
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case *common.AnyValue_BoolValue:
		return strconv.FormatBool(x.BoolValue)
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(x.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		return strconv.FormatFloat(x.DoubleValue, 'g', -1, 64)
	case *common.AnyValue_BytesValue:
		return strconv.QuoteToASCII(string(x.BytesValue))
	case *common.AnyValue_ArrayValue:
		parts := make([]string, 0, len(x.ArrayValue.GetValues()))
		for _, e := range x.ArrayValue.GetValues() {
			if depth > 0 {
				parts = append(parts, text(e, depth-1))
			}
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *common.AnyValue_KvlistValue:
		parts := make([]string, 0, len(x.KvlistValue.GetValues()))
		for _, e := range x.KvlistValue.GetValues() {
			if depth > 0 {
				parts = append(parts, e.GetKey()+"="+text(e.GetValue(), depth-1))
			}
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return ""
}
