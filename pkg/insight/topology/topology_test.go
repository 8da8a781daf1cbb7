package topology

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

//go:embed testdata/*.test
var scenarios embed.FS

func TestScenarios(t *testing.T) {
	insighttest.Run(t, scenarios, insighttest.Evals{
		// Words behind topology: the kinds of vertices whose lines are written ("edges" for edges, "notes", "missing"), profile=NAME,
		// parts=a,b, most=N, and why for the reasons of states.
		"topology": func(s *insighttest.Scenario, args []string) ([]string, error) { return show(s.Devices, args) },
	})
}

func show(grid *insight.Devices, args []string) ([]string, error) {
	var options Options
	most := 1000
	words := map[string]bool{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "profile":
			options.Profile = value
		case "parts":
			for p := range strings.SplitSeq(value, ",") {
				options.Parts = append(options.Parts, Part(p))
			}
		case "most":
			if _, err := fmt.Sscan(value, &most); err != nil {
				return nil, err
			}
		}
		words[key] = true
	}
	limits, err := options.Resolve(DefaultLimits())
	if err != nil {
		return nil, err
	}
	g := Draw(grid, limits, options, most)
	why := func(state State, text, assumed string) string {
		line := string(state)
		if words["why"] {
			line = strings.Join(strings.Fields(line+" "+text), " ")
		}
		if words["assumed"] && assumed != "" {
			line += " [" + assumed + "]"
		}
		return line
	}
	var lines []string
	for _, v := range g.Vertices {
		if !words[string(v.Kind)] {
			continue
		}
		texts := []string{string(v.Kind), v.Title, "|", v.Subtitle, "|", v.Main, "|", v.Secondary, "|", why(v.State, v.Why, v.Assumed)}
		if words["arcs"] {
			texts = append(texts, fmt.Sprintf("%.2f %.2f %.2f %.2f %.2f", v.Arcs.Active, v.Arcs.Idle, v.Arcs.Allocated, v.Arcs.Free, v.Arcs.Stranded))
		}
		if v.Fits != "" && words["fits"] {
			texts = append(texts, v.Fits)
		}
		if v.Marked {
			texts = append(texts, "marked")
		}
		lines = append(lines, strings.Join(texts, " "))
	}
	if words["edges"] {
		for _, e := range g.Edges {
			lines = append(lines, strings.Join([]string{e.Source, "-", e.Target, "|", e.Main, "|", e.Secondary, "|", why(e.Link.State, e.Link.Why, e.Link.Assumed)}, " "))
		}
	}
	if words["notes"] {
		lines = append(lines, g.Notes...)
	}
	if words["missing"] {
		for _, b := range g.Boards {
			lines = append(lines, b.Device.UUID+" lacks "+strings.Join(b.Missing, " "))
		}
	}
	if words["left"] {
		lines = append(lines, fmt.Sprint(g.LeftOut, " left out"))
	}
	return lines, nil
}

// Ends of edges are there, ids are unique, arcs add up, and nothing is infinite, whatever is measured.
func check(t *testing.T, g *Graph) {
	t.Helper()
	ids := map[string]bool{}
	for _, v := range g.Vertices {
		require.False(t, ids[v.ID], "vertex %s twice", v.ID)
		ids[v.ID] = true
		sum := v.Arcs.Active + v.Arcs.Idle + v.Arcs.Allocated + v.Arcs.Free + v.Arcs.Stranded
		require.True(t, sum == 0 || math.Abs(sum-1) < 1e-9, "arcs of %s: %v", v.ID, v.Arcs)
		require.NotContains(t, v.Main+v.Secondary+v.Why, "NaN")
		require.NotContains(t, v.Main+v.Secondary+v.Why, "Inf")
		require.NotEmpty(t, v.State, v.ID)
	}
	edges := map[string]bool{}
	for _, e := range g.Edges {
		require.True(t, ids[e.Source] && ids[e.Target], "edge %s hangs", e.ID)
		require.False(t, edges[e.ID], "edge %s twice", e.ID)
		edges[e.ID] = true
		require.NotContains(t, e.Main+e.Secondary+e.Link.Why, "NaN")
		require.False(t, math.IsInf(e.Link.Share(), 0))
	}
}

func FuzzDraw(f *testing.F) {
	f.Add(uint8(3), int64(1), "3g.40gb", "NVIDIA H100 80GB HBM3")
	f.Add(uint8(40), int64(7), "1g.10gb", "NVIDIA A100 PCIe")
	f.Add(uint8(0), int64(0), "", "")
	f.Fuzz(func(t *testing.T, n uint8, seed int64, profile, model string) {
		var subjects []insight.Subject
		for i := range int(n) {
			d := gpu.Device{Identity: gpu.Identity{Node: fmt.Sprint("n", i%3), UUID: fmt.Sprint("GPU-", i/2)}, Index: i, Model: model}
			if i%2 == 1 {
				d.GPUInstance, d.MIGProfile, d.MIGEnabled = fmt.Sprint(i), profile, true
			}
			subjects = append(subjects, insight.Subject{Device: d})
		}
		start := time.Unix(0, 0)
		grid := insight.NewGrid(start, start.Add(5*time.Minute), time.Minute, subjects)
		state := uint64(seed)
		odd := []float64{math.NaN(), -1, 0, 0.5, 1, 3, 5, 16, 18, 1e9, 1e300, math.Inf(1)}
		for _, field := range Fields() {
			for i := range subjects {
				values := make([]float64, len(grid.Times))
				for k := range values {
					state = state*6364136223846793005 + 1442695040888963407
					values[k] = odd[state>>33%uint64(len(odd))]
				}
				grid.Set(field, i, values)
			}
		}
		g := Draw(grid, DefaultLimits(), Options{Profile: "1g.10gb"}, int(n)/2)
		check(t, g)
		check(t, Draw(grid, DefaultLimits(), Options{Parts: []Part{MIG}}, 1000))
	})
}

func TestDrawNothing(t *testing.T) {
	g := Draw(insight.NewGrid[insight.Subject](time.Unix(0, 0), time.Unix(60, 0), time.Minute, nil), DefaultLimits(), Options{}, 10)
	assert.Empty(t, g.Vertices)
	assert.Empty(t, g.Notes)
}

func TestFieldsAreInTheCatalogue(t *testing.T) {
	known, err := catalog.Load()
	require.NoError(t, err)
	for _, f := range Fields() {
		m, ok := known.Metric(f.Metric)
		assert.True(t, ok && m.Subject == catalog.SubjectDevice, f.Metric)
	}
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"profile":"3g"}`:                  `profile: MIG profile "3g" must be like 3g.40gb`,
		`{"parts":["ib"]}`:                  `parts: "ib" is none of pcie, nvlink, mig and network`,
		`{"limits":{"busy":2}}`:             `limits: busy: 2 must be from 0 to 1`,
		`{"limits":{"minutes":0}}`:          `limits: minutes: 0 must be from 1 to 1440`,
		`{"limits":{"fast":0}}`:             `limits: unknown field "fast"`,
		`{"limits":{"saturated":"x"}}`:      `limits: `,
		`{"limits":{"fragmented":-0.0001}}`: `limits: fragmented: -0.0001 must be`,
	} {
		var o Options
		require.NoError(t, json.Unmarshal([]byte(text), &o), text)
		_, err := o.Resolve(DefaultLimits())
		require.ErrorContains(t, err, want, text)
	}
}

func TestRoom(t *testing.T) {
	b := Board{Split: splitOf(&Board{Device: gpu.Device{Model: "NVIDIA H100 80GB HBM3"}}, nil)}
	sure, most, known := b.Room("3g.40gb")
	assert.Equal(t, []any{2, 2, true}, []any{sure, most, known})
	sure, _, known = b.Room("3g.71gb") // no profile of this model
	assert.Equal(t, []any{0, true}, []any{sure, known})
	_, _, known = (&Board{}).Room("3g.40gb")
	assert.False(t, known)
}
