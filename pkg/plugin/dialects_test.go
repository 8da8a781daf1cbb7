package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// Exporters that the settings describe are read like any other, and a mistake in the description is told by its place.
func TestDialectsOfTheSettings(t *testing.T) {
	store := &promtest.Store{}
	store.Constant(map[string]string{"__name__": "acme_power", "card": "GPU-1", "machine": "n7"}, 321)
	open := func(dialects string) *Datasource {
		instance, err := NewDatasource(t.Context(), backend.DataSourceInstanceSettings{JSONData: mustJSON(t, map[string]any{
			"agents": map[string]any{"discovery": "off"}, "dialects": dialects,
			"clusters": []any{map[string]any{"name": "north", "endpoints": []any{map[string]any{"id": "a", "url": promtest.Serve(t, store)}}}},
		})})
		if err != nil {
			t.Fatal(err)
		}
		d := instance.(*Datasource)
		t.Cleanup(d.Dispose)
		return d
	}
	f := &fleet{Datasource: open(`[{"name": "acme", "labels": {"uuid": ["card"], "node": ["machine"]}, "series": {"acme_power": "gpu_power_watts"}}]`)}
	if f.broken != nil {
		t.Fatal(f.broken)
	}
	frames := f.frames(t, time.Hour, metricQuery())
	if _, values := column(frames[0], 1); len(values) == 0 || *values[0] != 321 {
		t.Errorf("got %v; %s", values, noticeTexts(frames))
	}
	broken := open(`[{"name": "acme", "labels": {"uuid": ["card"]}, "series": {"acme_power": "gpu_powr_watts"}}]`).broken
	if broken == nil || !strings.HasPrefix(broken.Error(), "dialects[0].series") || !strings.Contains(broken.Error(), "gpu_powr_watts") {
		t.Errorf("got %v", broken)
	}
}
