// Package plugin adapts the data source to Grafana's plugin SDK, one file for each interface of the SDK. What it
// answers with is made in the other packages; here requests are read, history and live data are fetched side by side,
// and errors get the source and status that Grafana shows them with.
package plugin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/instancemgmt"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
	"github.com/grafana/grafana-plugin-sdk-go/backend/proxy"

	"github.com/warpwatch/warpwatch/pkg/alerts"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

var _ instancemgmt.InstanceDisposer = (*Datasource)(nil)

// past is what Prometheus knows. All methods answer with what they have, however many servers fail, and end with ctx.
type past interface {
	Metric(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) history.Result
	Rollup(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) (history.Result, bool)
	PromQLTable(ctx context.Context, q query.Query, w query.Window) history.Result
	Coverage(ctx context.Context, scope query.Scope) history.Coverage
	Recorded(ctx context.Context) ([]history.Recorded, []gpu.Notice, error)
	Devices(ctx context.Context) ([]gpu.Device, []gpu.Notice)
	Members(ctx context.Context, scope query.Scope, from, to time.Time) ([]history.Member, []gpu.Notice, error)
	Inventory(ctx context.Context, scope query.Scope, w query.Window, metrics []catalog.Metric) history.Inventory
	Events(ctx context.Context, q query.Query, w query.Window) history.Events
	Alerts(ctx context.Context, scope query.Scope, w query.Window) history.Alerts
	Agents(ctx context.Context) ([]history.Agent, []gpu.Notice)
	Check(ctx context.Context) []history.EndpointStatus
}

// present is what agents measure now. Trouble with agents is part of the answers, never an error.
type present interface {
	Window(ctx context.Context, s live.Select) live.WindowResult
	Now(ctx context.Context, s live.Select) live.NowResult
	Subscribe(s live.Select) *live.Subscription
	Nodes(ctx context.Context) ([]live.NodeStatus, error)
	Devices() []gpu.Device
	Close()
}

// Datasource is one configured data source. It owns its connections to Prometheus and to the agents, and holds
// nothing of any request.
type Datasource struct {
	settings settings.Settings
	broken   error // why the settings cannot be used; nil when they can

	catalog   *catalog.Catalog
	history   past
	live      present
	managers  []alerts.Manager // Alertmanagers
	finder    *live.Finder     // nil where nobody looks for agents
	handovers *handovers
	rosters   rosters
	baselines baselines
	gathering room // in values

	toldEvents toldEvents
	alertPolls alertPolls
	layouts    layouts
	gate       gate
	turns      room // in queries
	resources  backend.CallResourceHandler
	logger     log.Logger
	now        func() time.Time
	close      []func()

	cacheMetrics *history.CacheMetrics
	shared       *sharedStore // nil without a shared cache
}

// NewDatasource makes a data source of its stored settings. Settings that cannot be used are not an error here: the
// data source then says in every answer, and in its health, what to change.
func NewDatasource(ctx context.Context, stored backend.DataSourceInstanceSettings) (instancemgmt.Instance, error) {
	return newDatasource(ctx, stored, nil)
}

// newDatasource is NewDatasource for one that counts into metrics, nil for none.
func newDatasource(ctx context.Context, stored backend.DataSourceInstanceSettings, metrics *history.CacheMetrics) (instancemgmt.Instance, error) {
	known, err := catalog.Load()
	if err != nil {
		return nil, backend.PluginError(fmt.Errorf("load the metric catalogue: %w", err))
	}
	d := &Datasource{catalog: known, handovers: newHandovers(), logger: backend.Logger, now: time.Now, cacheMetrics: metrics}
	d.resources = d.newResources()
	d.settings, d.broken = settings.Parse(stored.JSONData, stored.DecryptedSecureJSONData)
	d.gate.limits = d.settings.Live
	if d.broken == nil {
		d.broken = d.learn()
	}
	if d.broken == nil {
		d.broken = d.open(ctx, stored)
	}
	return d, nil
}

// learn adds the exporters of the settings to the catalogue, and checks the limits of judgements.
func (d *Datasource) learn() error {
	dialects, err := catalog.ParseDialects(d.settings.Dialects)
	if err != nil {
		return err
	}
	known, err := d.catalog.With(dialects)
	if err != nil {
		return err
	}
	d.catalog = known
	return d.checkLimits()
}

// open makes the clients. The error is the user's to mend.
func (d *Datasource) open(ctx context.Context, stored backend.DataSourceInstanceSettings) error {
	base, err := stored.HTTPClientOptions(ctx)
	if err != nil {
		return fmt.Errorf("read the data source's HTTP settings: %w", err)
	}
	var socks *proxy.Options
	if d.settings.WantsSecureSocks() {
		if socks, err = secureSocks(ctx, stored); err != nil {
			return err
		}
	}
	var endpoints []history.Endpoint
	for _, cluster := range d.settings.Clusters {
		for _, e := range cluster.Endpoints {
			client, err := endpointClient(base, e, socks)
			if err != nil {
				return err
			}
			d.close = append(d.close, client.CloseIdleConnections)
			endpoints = append(endpoints, endpoint(cluster.Name, e, client))
		}
	}
	if err := d.openAlertmanagers(base, socks); err != nil {
		return err
	}
	shared, stop := sharedCache(d.settings.Cache.Remote, d.cacheMetrics)
	d.shared, _ = shared.(*sharedStore)
	d.close = append(d.close, stop)
	past, err := history.New(endpoints, d.catalog, history.Options{
		ScrapeInterval: d.settings.ScrapeInterval, Tenant: tenantOf, FailedEndpoint: &d.settings.FailedEndpoint, CacheBytes: cacheBytes(d.settings.Cache),
		CacheRemote: shared, CacheNamespace: cacheNamespace(stored), CacheFreshness: d.settings.Cache.Freshness,
		CacheMetrics: d.cacheMetrics,
	})
	if err != nil {
		return err
	}
	d.history = past
	d.close = append(d.close, past.Close)

	return d.openAgents(ctx, base, socks, past, nil)
}

func endpoint(cluster string, e settings.Endpoint, client *http.Client) history.Endpoint {
	out := history.Endpoint{
		ID: e.ID, Cluster: cluster, URL: e.URL, HTTP: client, Timeout: e.Timeout, Replica: e.Role == settings.Replica, ReplicaLabels: e.ReplicaLabels,
		Concurrency: e.Concurrency, Compression: history.Compression(e.Compression),
	}
	if e.Forward == settings.ForwardAlways {
		out.Permit = needsTenant
	}
	return out
}

// cacheBytes is the cache's size, where 0 stands for none in the settings and for some size in the history's options.
func cacheBytes(c settings.Cache) int64 {
	if c.MaxBytes == 0 {
		return -1
	}
	return c.MaxBytes
}

// Dispose ends what the instance started. Streams that still run end with an error, so that Grafana runs them again
// on the instance with the new settings.
func (d *Datasource) Dispose() {
	if d.live != nil {
		d.live.Close()
	}
	// Last what was opened first: what ends may still use connections.
	for _, end := range slices.Backward(d.close) {
		end()
	}
}
