package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/warpwatch/warpwatch/dashboards/rules"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func of(t *testing.T, exporter string) []rules.Group {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := rules.For(c, exporter)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// What `promtool check rules` looks at, of every exporter, kind and format for it.
func TestPrometheusTakesTheRulesOfEveryExporter(t *testing.T) {
	for _, exporter := range rules.Exporters() {
		for _, kind := range rules.Kinds() {
			var text bytes.Buffer
			if err := rules.Write(&text, rules.Of(of(t, exporter), kind), rules.Prometheus, "# head\n"); err != nil {
				t.Fatal(err)
			}
			groups, problems := rulefmt.Parse(text.Bytes(), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
			if len(problems) > 0 {
				t.Errorf("%s, %s: %v", exporter, kind, errors.Join(problems...))
			} else if len(groups.Groups) == 0 {
				t.Errorf("%s, %s: there are none", exporter, kind)
			}
		}
	}
}

// last is how many minutes the replayed files are stored for.
const last = 90

// store holds what files of an exporter say, once a minute; all values grow, so that counters count.
func store(t *testing.T, faults string, files ...string) storage.Storage {
	t.Helper()
	s := teststorage.New(t)
	t.Cleanup(func() { _ = s.Close() })
	for i, file := range files {
		text, err := os.ReadFile(filepath.Join("..", "..", "provisioning", "replay", file))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			text = append(text, faults...)
		}
		for minute := range last {
			app := s.Appender(context.Background())
			p, err := textparse.New(text, "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for {
				entry, err := p.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if entry != textparse.EntrySeries {
					continue
				}
				_, _, v := p.Series()
				var set labels.Labels
				p.Labels(&set)
				b := labels.NewBuilder(set)
				b.Set("instance", fmt.Sprintf("n%d:9400", i)).Set("job", "exporter")
				if _, err := app.Append(0, b.Labels(), int64(minute)*60_000, v*(1+float64(minute)/1000)); err != nil {
					t.Fatal(err)
				}
			}
			if err := app.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// record evaluates groups as Prometheus does and says what each rule came to at the end, by its name and labels.
func record(t *testing.T, s storage.Storage, groups []rules.Group) map[string]float64 {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	t.Cleanup(func() { _ = engine.Close() })
	end := map[string]float64{}
	for minute := 0; minute < last; minute += 10 {
		at := time.UnixMilli(int64(minute) * 60_000)
		for _, g := range groups {
			for _, r := range g.Rules {
				q, err := engine.NewInstantQuery(context.Background(), s, nil, r.Expr, at)
				if err != nil {
					t.Fatal(err)
				}
				result := q.Exec(context.Background())
				if result.Err != nil {
					t.Fatalf("%s%s: %v", r.Record, r.Alert, result.Err)
				}
				app := s.Appender(context.Background())
				for _, sample := range result.Value.(promql.Vector) {
					b := labels.NewBuilder(sample.Metric)
					b.Set(labels.MetricName, r.Record+r.Alert)
					for name, value := range r.Labels {
						b.Set(name, value)
					}
					set := b.Labels()
					if minute+10 >= last {
						end[set.String()] = sample.F
					}
					if r.Record != "" {
						if _, err := app.Append(0, set, at.UnixMilli(), sample.F); err != nil {
							t.Fatal(err)
						}
					}
				}
				q.Close()
				if err := app.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return end
}

// The rules for one exporter say of its nodes what the rules for all say of them.
func TestRulesOfAnExporterSayTheSame(t *testing.T) {
	for exporter, tc := range map[string]struct {
		faults string
		files  []string
	}{
		"dcgm-4.8": {`DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{UUID="GPU-f",Hostname="n"} 1000
DCGM_FI_DEV_MEMORY_TEMP{UUID="GPU-f",Hostname="n"} 107
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{UUID="GPU-f",Hostname="n"} 64
`, []string{"dcgm-4.8.prom", "dcgm-mig.prom", "dcgm-pods.prom"}},
		"dcgm-4.9": {`DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{UUID="GPU-f",hostname="n"} 1000
DCGM_FI_DEV_MEMORY_TEMP_CELSIUS{UUID="GPU-f",hostname="n"} 107
DCGM_FI_DEV_ROW_REMAP_FAILED{UUID="GPU-f",hostname="n"} 1
DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL{UUID="GPU-f",hostname="n"} 9000
`, []string{"dcgm-4.9.prom"}},
		"nvidia_smi": {`nvidia_smi_gpu_recovery_action{uuid="f"} 1
nvidia_smi_temperature_memory{uuid="f"} 107
nvidia_smi_clocks_event_reasons_active{uuid="f"} 64
`, []string{"nvidia-smi-h200.prom", "nvidia-smi-h200-mig.prom"}},
	} {
		t.Run(exporter, func(t *testing.T) {
			want := record(t, store(t, tc.faults, tc.files...), of(t, rules.Any))
			got := record(t, store(t, tc.faults, tc.files...), of(t, exporter))
			if len(want) < 50 {
				t.Fatalf("only %d series are recorded", len(want))
			}
			for series, v := range want {
				if w, ok := got[series]; !ok || w != v {
					t.Errorf("%s is %v (%v), want %v", series, w, ok, v)
				}
			}
			for series := range got {
				if _, ok := want[series]; !ok {
					t.Errorf("%s is only there for the exporter", series)
				}
			}
			alerts := 0
			for series := range got {
				if strings.Contains(series, "severity=") {
					alerts++
				}
			}
			if alerts < 3 {
				t.Errorf("only %d alerts: nothing is compared of them", alerts)
			}
		})
	}
}
