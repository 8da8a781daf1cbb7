package plugin

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// Whatever exporters show, every judgement answers, with frames that are typed and a word where there is nothing.
func TestJudgementsOfCaptures(t *testing.T) {
	files, err := filepath.Glob("../history/testdata/*.prom")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	queries := []string{
		`{"queryType":"bottleneck","minStep":"2m"}`, `{"queryType":"health","minStep":"10m"}`, `{"queryType":"efficiency","minStep":"2m","options":{"by":["model","namespace"]}}`,
		`{"queryType":"forecast","minStep":"6h","options":{"of":"capacity"}}`, `{"queryType":"forecast","minStep":"10m","options":{"of":"memory"}}`,
		`{"queryType":"anomaly","minStep":"10m","options":{"metric":"gpu_power_watts","against":"model"}}`,
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := exported(t, func(s *promtest.Store) { exposed(t, s, filepath.Base(file), "10.9.0.1:9400") })
			inventory := answerTo(t, d, `{"queryType":"inventory"}`)[0]
			for _, q := range queries {
				all := answerTo(t, d, q)
				for _, frame := range all {
					if frame.Meta == nil || frame.Meta.Type == "" {
						t.Errorf("%s: a frame %q without a type", q, frame.Name)
					}
				}
				askedAlert(t, d, q)
				text := noticeTexts(all)
				if empty := all[0].Rows() == 0; empty && text == "" {
					t.Errorf("%s: nothing, and no word", q)
				}
				// Nobody is left out, and nobody is well of whom nothing is known.
				if strings.Contains(q, "health") && all[0].Rows() < inventory.Rows() {
					t.Errorf("%d rows of %d devices", all[0].Rows(), inventory.Rows())
				}
			}
		})
	}
}
