package workload

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"
)

// add takes what can be shown. renew lets a series come again; otherwise that is a mistake of the input.
func (s *Store) add(in *input, families []*dto.MetricFamily, expires time.Time, renew bool, r *Report) {
	for _, mf := range families {
		name, count := mf.GetName(), len(mf.GetMetric())
		if count == 0 || !s.nameIsFine(in, name, count, r) {
			continue
		}
		if mf.GetType() == dto.MetricType_GAUGE_HISTOGRAM {
			r.refuse(in, name, Unsupported, count, "gauge histograms are not shown; send a histogram")
			continue
		}
		f, other := s.claim(name, s.help(mf.GetHelp()), mf.GetType())
		if other != nil {
			r.refuse(in, name, Conflict, count, "a %s is in the way of %s, which %s sent before as %s: use one type, or another name",
				kindName(mf.GetType()), other.name, strings.Join(other.owners(), ", "), kindName(other.kind))
			continue
		}
		for _, m := range mf.GetMetric() {
			s.addSeries(in, f, m, expires, renew, r)
		}
		s.release(f)
	}
}

func (s *Store) addSeries(in *input, f *family, m *dto.Metric, expires time.Time, renew bool, r *Report) {
	labels, reason, why := s.checkedLabels(f.kind, m.GetLabel())
	if why != "" {
		r.refuse(in, f.name, reason, 1, "%s", why)
		return
	}
	metric, lines, why := checkedValue(f.kind, m)
	if why != "" {
		r.refuse(in, f.name, InvalidData, 1, "%s", why)
		return
	}
	metric.Label = labels
	key := labelKey(labels)
	old, freed := f.series[key], 0
	switch {
	case old == nil:
	case old.owner != in:
		r.refuse(in, f.name, Duplicate, 1, "%s has the series %s already: send it once, or tell them apart by a label", old.owner.name, clip(readable(labels)))
		return
	case !renew:
		r.refuse(in, f.name, Duplicate, 1, "the series %s is there twice: remove one, or tell them apart by a label", clip(readable(labels)))
		return
	default:
		freed = old.lines
	}
	if limit := s.o.Limits.LinesPerInput; in.lines-freed+lines > limit {
		r.refuse(in, f.name, TooMany, 1, "the input has its %d lines already: send fewer series, or raise the limit", limit)
		return
	}
	if limit := s.o.Limits.Lines; s.lines-freed+lines > limit {
		r.refuse(in, f.name, TooMany, 1, "all inputs together have their %d lines already: send fewer series, or raise the limit", limit)
		return
	}
	f.series[key] = &series{metric: metric, owner: in, lines: lines, expires: expires}
	in.lines += lines - freed
	s.lines += lines - freed
	s.expireAt(expires)
	s.dirty = true
	r.Accepted++
}

func (s *Store) nameIsFine(in *input, name string, count int, r *Report) bool {
	prefix, reserved := ReservedName(name)
	for _, p := range s.o.Reserved {
		if strings.HasPrefix(name, p) {
			prefix, reserved = p, true
		}
	}
	if reserved {
		r.refuse(in, name, Reserved, count, "%s", reservedMessage(prefix))
		return false
	}
	if !model.LegacyValidation.IsValidMetricName(name) {
		r.refuse(in, name, InvalidName, count, "a metric's name has only letters, digits, _ and :, and begins with none of the digits")
		return false
	}
	if len(name) > s.o.Limits.NameBytes {
		r.refuse(in, name, TooLong, count, "the name has %d bytes, at most %d", len(name), s.o.Limits.NameBytes)
		return false
	}
	return true
}

// reservedPrefixes are of the agent itself, of exporters that it stands beside, and of the scraper.
func reservedPrefixes() []string {
	return []string{
		"gpu_", "gpu.", "warpwatch_", "warpwatch.", "DCGM_", "dcgm_", "nvidia_smi_", "hw_gpu", "hw.gpu.", "go_", "process_",
		"promhttp_", "scrape_",
	}
}

// ReservedName says whether a name would pass for a metric of somebody else, and by which beginning.
func ReservedName(name string) (prefix string, is bool) {
	if name == "up" {
		return name, true
	}
	for _, p := range reservedPrefixes() {
		if strings.HasPrefix(name, p) {
			return p, true
		}
	}
	return "", false
}

func reservedMessage(prefix string) string {
	const rename = ": leave it out, or give it another name (train_ and serve_ are meant for jobs)"
	switch prefix {
	case "up":
		return "the name up belongs to the scraper" + rename
	case "go_", "process_", "promhttp_", "scrape_":
		return "names that begin with " + prefix + " speak of the agent's own process, or of its scrape" + rename
	}
	return "names that begin with " + prefix + " are kept for what the agent and the GPU exporters measure themselves" + rename
}

// label adds the labels that the agent knows and the sender did not say, sorts them, and leaves empty ones out.
func (s *Store) label(sent []*dto.LabelPair) []*dto.LabelPair {
	labels := make([]*dto.LabelPair, 0, len(sent)+3)
	have := map[string]string{}
	for _, l := range sent {
		if l.GetValue() != "" {
			labels = append(labels, &dto.LabelPair{Name: proto.String(l.GetName()), Value: proto.String(l.GetValue())})
			have[l.GetName()] = l.GetValue()
		}
	}
	add := func(name, value string) {
		if have[name] == "" && value != "" {
			labels = append(labels, &dto.LabelPair{Name: proto.String(name), Value: proto.String(strings.ToValidUTF8(value, "\uFFFD"))})
		}
	}
	add("cluster", s.o.Cluster)
	add("node", s.o.Node)
	if index := have["gpu"]; index != "" && s.o.GPU != nil {
		if uuid, ok := s.o.GPU(index); ok {
			add("gpu_uuid", uuid)
		}
	}
	slices.SortStableFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return labels
}

// checkedLabels are the labels of a series, or why they cannot be shown.
func (s *Store) checkedLabels(kind dto.MetricType, sent []*dto.LabelPair) (labels []*dto.LabelPair, reason Reason, why string) {
	if len(sent) > s.o.Limits.Labels {
		return nil, TooLong, "a series has more labels than are allowed: drop some"
	}
	for _, l := range sent {
		name, value := l.GetName(), l.GetValue()
		switch {
		case !model.LegacyValidation.IsValidLabelName(name) || strings.HasPrefix(name, "__"):
			return nil, InvalidName, "the label " + clip(strings.ToValidUTF8(name, "\uFFFD")) +
				" is not one: only letters, digits and _, no digit first, not two _ first"
		case kind == dto.MetricType_HISTOGRAM && name == "le", kind == dto.MetricType_SUMMARY && name == "quantile":
			return nil, InvalidName, "the label " + name + " is the format's own here: use another"
		case len(name) > s.o.Limits.NameBytes:
			return nil, TooLong, "the name of label " + clip(name) + " is too long: shorten it"
		case len(value) > s.o.Limits.ValueBytes:
			return nil, TooLong, "the value of label " + name + " is too long: shorten it, or leave the label out"
		case !utf8.ValidString(value):
			return nil, InvalidData, "the value of label " + name + " is not UTF-8"
		}
	}
	labels = s.label(sent)
	if len(labels) > s.o.Limits.Labels {
		return nil, TooLong, "a series has more labels than are allowed: drop some"
	}
	for i := 1; i < len(labels); i++ {
		if labels[i].GetName() == labels[i-1].GetName() {
			return nil, InvalidName, "the label " + labels[i].GetName() + " is there twice"
		}
	}
	return labels, "", ""
}

// labelKey tells series of a metric apart. No label has a zero byte in its name, and lengths guard the values.
func labelKey(labels []*dto.LabelPair) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.GetName())
		b.WriteByte(0)
		b.WriteString(l.GetValue())
		b.WriteByte(0xFF)
	}
	return b.String()
}

func readable(labels []*dto.LabelPair) string {
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = l.GetName() + "=" + l.GetValue()
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (s *Store) help(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if limit := s.o.Limits.HelpBytes; len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

func kindName(k dto.MetricType) string { return strings.ToLower(k.String()) }

// sortedNames are the names of the families in the order in which they are shown.
func (s *Store) sortedNames() []string { return slices.Sorted(maps.Keys(s.families)) }
