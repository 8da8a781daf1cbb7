package catalog

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// others are the packages whose testdata has more that real exporters wrote.
const others = "../history/testdata/"

// read is what the series of one file say in canonical units, by metric, for each device.
func read(t *testing.T, c *Catalog, name string) map[string]map[string]float64 {
	t.Helper()
	values := map[string]map[string]float64{}
	for _, s := range samples(t, name) {
		id, ok := c.Resolve(s.labels)
		if !ok {
			continue
		}
		for _, source := range c.Lookup(s.labels["__name__"]) {
			if !source.Accepts(s.labels) {
				continue
			}
			m, _ := c.Metric(source.Metric)
			conversion := source.Conversion
			if conversion.Auto {
				conversion, _, _ = c.DecideUnit(source, s.help, s.value)
			}
			value, verdict := c.Convert(m, conversion, s.value)
			if m.Kind == Counter {
				value, verdict = conversion.Apply(s.value), Kept // what is judged is the rate
			}
			if verdict != Kept {
				t.Errorf("%s: %v is %v of %s (%d)", name, s.labels, s.value, m.Name, verdict)
			}
			if values[m.Name] == nil {
				values[m.Name] = map[string]float64{}
			}
			key := id.Device.Node + "/" + id.Device.UUID + "/" + id.Device.GPUInstance + source.Part
			if m.SumOver != "" {
				key += s.labels[m.SumOver]
			}
			values[m.Name][key] = value
		}
	}
	return values
}

// The two generations of dcgm-exporter say the same of the same load (A01).
func TestBothGenerationsSayTheSame(t *testing.T) {
	c := mustLoad(t)
	older, newer := read(t, c, others+"exporter_4_8.prom"), read(t, c, others+"exporter_4_9.prom")
	compared := 0
	for metric, devices := range older {
		want := sorted(devices)
		got := sorted(newer[metric])
		if len(got) == 0 {
			t.Errorf("%s is not in 4.9", metric)
			continue
		}
		for i := range want {
			// 4.8 writes whole units, so they may differ by less than one.
			if math.Abs(got[i]-want[i]) > 1e-3*math.Abs(want[i]) {
				t.Errorf("%s: %v in 4.8 and %v in 4.9", metric, want, got)
			}
			compared++
		}
	}
	if compared < 24 {
		t.Errorf("only %d values were compared", compared)
	}
	for metric, want := range map[string]float64{"gpu_utilization_ratio": 0.87, "gpu_sm_clock_hertz": 1755e6, "gpu_memory_used_bytes": 59960 << 20} {
		for _, generation := range []map[string]map[string]float64{older, newer} {
			if !slices.Contains(sorted(generation[metric]), want) {
				t.Errorf("%s: %v, want %v", metric, generation[metric], want)
			}
		}
	}
}

func sorted(values map[string]float64) []float64 {
	var all []float64
	for _, v := range values {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// The same GPU is the same under every exporter.
func TestDialectsAgree(t *testing.T) {
	c := mustLoad(t)
	const uuid = "GPU-5e1f0003-0a00-4a00-8b00-000000000003"
	for file, want := range map[string]map[string]float64{
		"nvitop.prom": {
			"gpu_utilization_ratio": 0.87, "gpu_memory_utilization_ratio": 0.31, "gpu_memory_used_bytes": 59960 << 20, "gpu_memory_used_ratio": 0.735,
			"gpu_sm_clock_hertz": 1755e6, "gpu_power_watts": 311.402, "gpu_temperature_celsius": 41,
			"gpu_pcie_transmit_bytes_per_second": 2 << 20, "gpu_nvlink_link_transmit_bytes_per_second": 4 << 20,
		},
		"all_smi.prom": {
			"gpu_utilization_ratio": 0.87, "gpu_memory_used_bytes": 62872616960, "gpu_power_watts": 311.402,
			"gpu_graphics_clock_hertz": 1755e6, "gpu_temperature_celsius": 41, "gpu_sm_occupancy_ratio": 0.42,
		},
		"hardware_otel.json": {
			"gpu_utilization_ratio": 0.87, "gpu_encoder_utilization_ratio": 0.02, "gpu_decoder_utilization_ratio": 0.05,
			"gpu_memory_used_bytes": 62872616960, "gpu_power_watts": 311.402, "gpu_ecc_uncorrected_errors_total": 1,
		},
		"renamed.json": {"gpu_utilization_ratio": 0.87, "gpu_memory_used_bytes": 59960 << 20, "gpu_power_watts": 311.402},
	} {
		got := read(t, c, file)
		for metric, value := range want {
			if values := sorted(got[metric]); len(values) != 1 || math.Abs(values[0]-value) > 1e-9*value {
				t.Errorf("%s: %s is %v, want %v", file, metric, got[metric], value)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d metrics, want %d: %v", file, len(got), len(want), got)
		}
		for _, s := range samples(t, file) {
			if s.labels["hw_type"] == "power_supply" {
				continue
			}
			d, _, ok := c.Identify(s.labels)
			if !ok || d.UUID != uuid || d.Node == "" || d.Index != 3 && s.labels["gpu_index"]+s.labels["gpu.index"]+s.labels["index"] != "" {
				t.Errorf("%s: %v is %+v", file, s.labels, d)
			}
			if model := s.labels["hw.model"] + s.labels["gpu"] + s.labels["devicename"]; strings.Contains(model, " ") && d.Model != "NVIDIA H100 80GB HBM3" {
				t.Errorf("%s: %v has the model %q", file, s.labels, d.Model)
			}
		}
	}
}

// unknown are the series of the captures that hold no metric of the catalogue, by what they begin with.
var unknown = strings.Fields(`
nvidia_smi_accounting_ nvidia_smi_c2c_mode nvidia_smi_clocks_event_reasons_ nvidia_smi_command_exit_code nvidia_smi_compute_app_
nvidia_smi_compute_apps_ nvidia_smi_compute_cap nvidia_smi_count nvidia_smi_display_ nvidia_smi_driver_version nvidia_smi_edpp_
nvidia_smi_ecc_errors_uncorrected_aggregate_sram_ nvidia_smi_ecc_errors_uncorrected_volatile_sram_ nvidia_smi_encoder_stats_
nvidia_smi_fabric_clique_id nvidia_smi_failed_scrapes_total nvidia_smi_gpu_info nvidia_smi_gsp_ nvidia_smi_index nvidia_smi_inforom_
nvidia_smi_kmd_version nvidia_smi_last_ nvidia_smi_mig_info nvidia_smi_mig_pcie_ nvidia_smi_name nvidia_smi_nvml_return_code nvidia_smi_pci_
nvidia_smi_pcie_link_gen_gpumax nvidia_smi_pcie_link_gen_hostmax nvidia_smi_platform_ nvidia_smi_protected_memory_ nvidia_smi_serial
nvidia_smi_remapped_rows_correctable_inactive nvidia_smi_remapped_rows_uncorrectable_inactive`)

func TestEverySeriesOfCapturesAndCasesIsKnown(t *testing.T) {
	c := mustLoad(t)
	files, err := filepath.Glob(others + "*.prom")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		found := 0
		for _, s := range samples(t, file) {
			name := s.labels["__name__"]
			if len(c.Lookup(name)) > 0 {
				found++
				if _, ok := c.Resolve(s.labels); !ok {
					t.Errorf("%s: not identified: %v", file, s.labels)
				}
				continue
			}
			if !slices.ContainsFunc(unknown, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
				t.Errorf("%s: %s is not known", file, name)
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing is known", file)
		}
	}
}

// What an exporter of 1.x says, A22, and a vGPU, A24.
func TestOldAndVirtualGPUs(t *testing.T) {
	c := mustLoad(t)
	old := read(t, c, "legacy_1x.prom")
	for metric, want := range map[string]float64{
		"gpu_sm_clock_hertz": 615e6, "gpu_memory_clock_hertz": 5001e6, "gpu_temperature_celsius": 49, "gpu_power_watts": 27.415,
		"gpu_energy_joules_total": 41900322.417, "gpu_utilization_ratio": 0, "gpu_memory_used_bytes": 11005 << 20,
	} {
		if got := sorted(old[metric]); len(got) == 0 || !slices.Contains(got, want) {
			t.Errorf("1.x: %s is %v, want %v", metric, got, want)
		}
	}
	guest := read(t, c, others+"vgpu_guest.prom")
	if guest["gpu_vgpu_license_status"] == nil || guest["gpu_utilization_ratio"] == nil || guest["gpu_temperature_celsius"] != nil {
		t.Errorf("vGPU: %v", guest)
	}
}

// What cannot be read as Prometheus' format is an error and nothing, also of the lines before it (A28, A33, A34).
func TestBrokenExpositionIsRefusedWhole(t *testing.T) {
	for _, name := range []string{"unescaped_label.prom", "type_twice.prom", "textfile_na.prom"} {
		file, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		if _, err := parser.TextToMetricFamilies(file); err == nil || !strings.Contains(err.Error(), "line") {
			t.Errorf("%s: %v", name, err)
		}
		file.Close()
	}
}

// Of each DCGM field that is a source both names are, and convert alike but where the unit changed too.
func TestDCGMFieldsAreKnownUnderBothNames(t *testing.T) {
	c := mustLoad(t)
	file, err := os.Open("testdata/dcgm_renames.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		older, newer, _ := strings.Cut(lines.Text(), "\t")
		a, b := c.Lookup(older), c.Lookup(newer)
		if len(a) != 1 || len(b) != 1 || a[0].Metric != b[0].Metric || a[0].Part != b[0].Part {
			t.Errorf("%s: %+v\n%s: %+v", older, a, newer, b)
			continue
		}
		m, _ := c.Metric(a[0].Metric)
		if a[0].Conversion != b[0].Conversion && m.Unit != gpu.Ratio {
			t.Errorf("%s is in %q and %s in %q, though only the name changed", older, a[0].Conversion.Unit, newer, b[0].Conversion.Unit)
		}
	}
	if n < 100 {
		t.Errorf("%d fields", n)
	}
}

// The labels to select by are those of the dialect, for all series of devices in it.
func TestFiltersFitTheirDialects(t *testing.T) {
	c := mustLoad(t)
	for _, m := range c.Metrics() {
		if m.Subject != SubjectDevice {
			continue
		}
		for _, s := range m.Sources {
			if strings.Contains(s.Series, ".") || s.Series == "nv_energy_consumption" {
				continue // only in braces
			}
			if f := c.FilterFor(s.Series + "{"); f.Dialect != s.Dialect {
				t.Errorf("%s of %s is filtered like %s", s.Series, s.Dialect, f.Dialect)
			}
		}
	}
}

// The traps that published dashboards fall into.
func TestTraps(t *testing.T) {
	c := mustLoad(t)
	kinds := map[string]Kind{
		// Rates, whatever TYPE says: never through rate().
		"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": Gauge, "DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL": Gauge, "DCGM_FI_DEV_NVLINK_BANDWIDTH_L0": Gauge,
		"DCGM_FI_DEV_NVLINK_TX_BANDWIDTH_TOTAL": Gauge, "dcgm_nvlink_bandwidth_total": Gauge, "DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND": Gauge,
		"DCGM_FI_PROF_PCIE_TX_BYTES": Gauge, "DCGM_FI_PROF_PCIE_RX_BYTES": Gauge, "DCGM_FI_PROF_NVLINK_TX_BYTES": Gauge, "dcgm_fi_prof_pcie_tx_bytes": Gauge,
		// True totals.
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Counter, "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": Counter, "DCGM_FI_DEV_POWER_VIOLATION": Counter,
		"DCGM_FI_DEV_PCIE_REPLAY_COUNTER": Counter, "DCGM_FI_PROF_PCIE_TX_BYTES_TOTAL": Counter, "DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES": Counter,
		"DCGM_EXP_XID_ERRORS_TOTAL": Counter,
		// The last code, and counts of a window that fall again: increase() of them means nothing.
		"DCGM_FI_DEV_XID_ERRORS": Gauge, "DCGM_FI_DEV_XID_ERROR": Gauge, "DCGM_EXP_XID_ERRORS_COUNT": Gauge, "DCGM_EXP_CLOCK_EVENTS_COUNT": Gauge,
		"DCGM_EXP_GPU_HEALTH_STATUS": Gauge,
		// Numbers of pages are no counters since dcgm-exporter 4.8.4.
		"DCGM_FI_DEV_RETIRED_PENDING": Gauge,
	}
	for series, kind := range kinds {
		sources := c.Lookup(series)
		if len(sources) != 1 {
			t.Errorf("%s: %+v", series, sources)
			continue
		}
		if m, _ := c.Metric(sources[0].Metric); m.Kind != kind {
			t.Errorf("%s is a %s", series, m.Kind)
		}
	}
	for series, want := range map[string]float64{
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION":            3600e3 / 1000, // mJ, not J, not µJ
		"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL":              3600e3 * 1024e3,
		"DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND":  3600e3,
		"DCGM_FI_DEV_POWER_VIOLATION":                     3600e3 / 1e9, // ns, not µs
		"DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL":    3600e3,
		"DCGM_FI_PROF_PCIE_TX_BYTES":                      3600e3,
		"nvidia_smi_power_draw_watts":                     3600e3, // base units already
		"gpu_pcie_tx_throughput_MiBps":                    3600e3 * 1048576,
		"vllm:kv_cache_usage_perc":                        3600e3, // called per cent, but a ratio
		"nv_inference_queue_duration_us":                  3600e3 / 1e6,
		"nv_inference_first_response_histogram_ms_bucket": 3600,
	} {
		if got := c.Lookup(series)[0].Conversion.Apply(3600e3); got != want {
			t.Errorf("%s: %v, want %v", series, got, want)
		}
	}
	if xid, _ := c.Metric("gpu_xid_last"); !xid.Latched {
		t.Error("the last XID must be known to stay")
	}
}

type sample struct {
	labels LabelMap
	help   string
	value  float64
}
