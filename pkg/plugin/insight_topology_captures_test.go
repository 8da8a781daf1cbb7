package plugin

import (
	"path/filepath"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// Whatever exporters show, memory, jobs and links are answered of, with a word where there is nothing.
func TestMemoryStragglersAndTopologyOfCaptures(t *testing.T) {
	files, err := filepath.Glob("../history/testdata/*.prom")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := exported(t, func(s *promtest.Store) { exposed(t, s, filepath.Base(file), "10.9.0.1:9400") })
			devices := answerTo(t, d, `{"queryType":"inventory"}`)[0].Rows()
			for _, q := range []string{
				`{"queryType":"memory","minStep":"10m"}`, `{"queryType":"stragglers","minStep":"2m"}`, `{"queryType":"topology","options":{"profile":"1g.10gb"}}`,
				`{"queryType":"events","kinds":["alert","silence"]}`, `{"queryType":"events","options":{"group":true}}`,
			} {
				all := answerTo(t, d, q)
				for _, frame := range all {
					if frame.Meta == nil || frame.Meta.Type == "" {
						t.Errorf("%s: a frame %q without a type", q, frame.Name)
					}
				}
				askedAlert(t, d, q)
				if all[0].Rows() == 0 && noticeTexts(all) == "" {
					t.Errorf("%s: nothing, and no word", q)
				}
				if all[0].Name == "memory" && all[0].Rows() < devices {
					t.Errorf("%d rows of %d devices", all[0].Rows(), devices)
				}
			}
		})
	}
}
