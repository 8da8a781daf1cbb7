package plugin

import (
	"context"
	"fmt"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/datasource"
	"github.com/grafana/grafana-plugin-sdk-go/backend/instancemgmt"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/pkg/history"
)

// Factory makes data sources that share the process' own metrics, which it registers. Grafana reads the default
// registry's. Data sources come and go with every change of their settings; the metrics stay.
func Factory(r prometheus.Registerer) (datasource.InstanceFactoryFunc, error) {
	cache, err := history.NewCacheMetrics(r)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of the cache: %w", err)
	}
	learned, err := newBaselineCounts(r)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of baselines: %w", err)
	}
	return func(ctx context.Context, stored backend.DataSourceInstanceSettings) (instancemgmt.Instance, error) {
		instance, err := newDatasource(ctx, stored, cache)
		if d, ok := instance.(*Datasource); ok {
			d.baselines.count = learned
		}
		return instance, err
	}, nil
}
