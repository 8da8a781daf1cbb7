package redfish

import (
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClassify(t *testing.T) {
	for name, test := range map[string]struct {
		sensor sensor
		want   quantity
		factor float64 // 0 for a sensor of no interest
	}{
		"intake":                   {sensor{ReadingType: "Temperature", PhysicalContext: "Intake"}, inletTemperature, 1},
		"room":                     {sensor{ReadingType: "Temperature", PhysicalContext: "Room"}, inletTemperature, 1},
		"by its name":              {sensor{ReadingType: "Temperature", Name: "Inlet Temp"}, inletTemperature, 1},
		"the inlet of a GPU":       {sensor{ReadingType: "Temperature", PhysicalContext: "GPU", Name: "Inlet"}, 0, 0},
		"exhaust":                  {sensor{ReadingType: "Temperature", PhysicalContext: "Exhaust"}, 0, 0},
		"fahrenheit":               {sensor{ReadingType: "Temperature", PhysicalContext: "Intake", ReadingUnits: "[degF]"}, 0, 0},
		"coolant in":               {sensor{ReadingType: "Temperature", Name: "Coolant Supply"}, supplyTemperature, 1},
		"coolant out":              {sensor{ReadingType: "Temperature", Name: "Liquid outlet"}, returnTemperature, 1},
		"coolant, unknown which":   {sensor{ReadingType: "Temperature", PhysicalContext: "Reservoir"}, 0, 0},
		"flow":                     {sensor{ReadingType: "LiquidFlowLPM"}, flow, 1},
		"old flow":                 {sensor{ReadingType: "LiquidFlow"}, flow, 60},
		"old flow with a new unit": {sensor{ReadingType: "LiquidFlow", ReadingUnits: "L/min"}, flow, 1},
		"kilopascals":              {sensor{ReadingType: "PressurekPa", PhysicalContext: "LiquidInlet"}, pressure, 1000},
		"pascals":                  {sensor{ReadingType: "PressurePa", PhysicalContext: "Pump"}, pressure, 1},
		"old pressure":             {sensor{ReadingType: "Pressure", ReadingUnits: "kPa", PhysicalContext: "Pump"}, pressure, 1000},
		"of the air":               {sensor{ReadingType: "PressurePa", PhysicalContext: "Chassis"}, 0, 0},
		"fan":                      {sensor{ReadingType: "Rotational"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q, _, factor, ok := classify(test.sensor)
			require.Equal(t, test.factor != 0, ok)
			if ok {
				assert.Equal(t, test.want, q)
				assert.InDelta(t, test.factor, factor, 0)
			}
		})
	}
}

// echo answers every request with the same text.
type echo struct {
	text string
	left int
}

func (e *echo) Get(string) (*http.Response, error) {
	if e.left--; e.left < 0 {
		return nil, errTooMany
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(e.text))}, nil
}

// Whatever a service answers, the walk ends and its readings can be exposed.
func FuzzWalk(f *testing.F) {
	tree, err := os.ReadFile("testdata/tree.json")
	require.NoError(f, err)
	for line := range strings.Lines(string(tree)) {
		if _, body, ok := strings.Cut(strings.TrimRight(line, ",\n"), `": `); ok {
			f.Add(body)
		}
	}
	f.Add(`{"Id": "\u0000\ud800", "Chassis": {"@odata.id": "/redfish/x"}, "Members": [{"@odata.id": "/redfish/x"}],
		"Members@odata.nextLink": "/redfish/x", "Sensors": {"@odata.id": "/redfish/x"}, "ReadingType": "LiquidFlow", "Reading": 1e308}`)
	f.Fuzz(func(t *testing.T, text string) {
		w := &walk{client: &echo{text: text, left: 200}, boring: map[string]bool{}, readings: map[place]map[quantity]float64{}}
		w.all()
		r := prometheus.NewRegistry()
		descs := describe()
		r.MustRegister(fixed{descs, w.list()})
		_, err := r.Gather()
		require.NoError(t, err)
		for _, reading := range w.list() {
			require.False(t, math.IsNaN(reading.value))
			require.LessOrEqual(t, len(reading.sensor), maxName+3)
		}
	})
}

// fixed shows readings to Prometheus' library.
type fixed struct {
	descs    [numQuantities]*prometheus.Desc
	readings []reading
}

func (f fixed) Describe(to chan<- *prometheus.Desc) {
	for _, d := range f.descs {
		to <- d
	}
}

func (f fixed) Collect(to chan<- prometheus.Metric) {
	for _, r := range f.readings {
		to <- r.metric(f.descs[r.quantity])
	}
}
