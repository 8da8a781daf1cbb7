package workload

import (
	"bytes"
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"
)

const noHelp = "Sent by a job or a script, which said no more about it."

// Append writes all series after dst, in the text format 0.0.4.
func (s *Store) Append(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if s.dirty {
		s.text, s.dirty = s.render(), false
	}
	return append(dst, s.text...)
}

func (s *Store) render() []byte {
	var text bytes.Buffer
	for _, name := range s.sortedNames() {
		f := s.families[name]
		mf := &dto.MetricFamily{Name: proto.String(name), Help: proto.String(f.help), Type: f.kind.Enum()}
		if f.help == "" {
			mf.Help = proto.String(noHelp)
		}
		for _, key := range slices.Sorted(maps.Keys(f.series)) {
			mf.Metric = append(mf.Metric, f.series[key].metric)
		}
		before := text.Len()
		if _, err := expfmt.MetricFamilyToText(&text, mf); err != nil {
			// Checked values do not get here; half a family would cost the whole scrape.
			text.Truncate(before)
		}
	}
	return text.Bytes()
}
