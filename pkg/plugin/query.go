package plugin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/config"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/experimental/concurrent"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

var _ backend.QueryDataHandler = (*Datasource)(nil)

// defaultConcurrency is how many queries of a request run at the same time where Grafana does not say.
const defaultConcurrency = 10

// request is one query of a panel, an alert rule or an expression, read and ready.
type request struct {
	query  query.Query
	window query.WindowOptions
	static bool // for an alert rule or an expression: no channel, and frames that they can read
	now    time.Time
}

// QueryData answers every query of a request, each on its own: what is wrong with one is that one's error.
func (d *Datasource) QueryData(ctx context.Context, req *backend.QueryDataRequest) (*backend.QueryDataResponse, error) {
	limit := concurrency(ctx)
	static := isStatic(req.Headers)
	ctx = withTenant(ctx, req.GetHTTPHeaders())
	return concurrent.QueryData(ctx, req, func(ctx context.Context, q concurrent.Query) backend.DataResponse {
		frames, err := d.answer(ctx, q.DataQuery, static)
		if err != nil {
			return d.failure(ctx, err)
		}
		return backend.DataResponse{Frames: d.withCacheNotice(frames), Status: backend.StatusOK}
	}, limit)
}

// concurrency is how many queries of a request run at the same time.
func concurrency(ctx context.Context) int {
	limit, err := config.GrafanaConfigFromContext(ctx).ConcurrentQueryCount()
	if err != nil || limit < 1 || limit > defaultConcurrency {
		limit = defaultConcurrency
	}
	return limit
}

// isStatic tells alert rules and expressions, whose answers are computed with and not looked at.
func isStatic(headers map[string]string) bool {
	for name, value := range headers {
		switch name := strings.TrimPrefix(strings.ToLower(name), "http_"); name {
		case "fromalert", "x-grafana-from-expr":
			if value == "true" {
				return true
			}
		}
	}
	return false
}

func (d *Datasource) answer(ctx context.Context, in backend.DataQuery, static bool) (data.Frames, error) {
	if d.broken != nil {
		return nil, d.unusable()
	}
	q, err := query.Parse(in.JSON, in.QueryType)
	if err != nil {
		return nil, badInput(err)
	}
	leave, err := d.turns.enter(ctx, 1, mostQueries)
	if err != nil {
		return nil, err
	}
	defer leave()
	r := request{query: q, static: static, now: d.now(), window: query.WindowOptions{
		From: in.TimeRange.From, To: in.TimeRange.To, MaxDataPoints: in.MaxDataPoints, MinStep: max(q.MinStep, in.Interval),
		ScrapeInterval: d.settings.ScrapeInterval,
	}}
	if static {
		return d.answerTo(ctx, r)
	}
	ctx, tally := history.WithTally(ctx)
	frames, err := d.answerTo(ctx, r)
	explain(frames, tally)
	return frames, err
}

func (d *Datasource) answerTo(ctx context.Context, r request) (data.Frames, error) {
	switch r.query.Type {
	case query.TypeMetric:
		return d.metric(ctx, r)
	case query.TypePromQL:
		return d.promQL(ctx, r)
	case query.TypeCoverage:
		return d.coverage(ctx, r)
	case query.TypeInventory:
		return d.inventory(ctx, r)
	case query.TypeProcesses:
		return d.processes(ctx, r)
	case query.TypeEvents:
		return d.events(ctx, r)
	case query.TypeBottleneck:
		return d.bottleneck(ctx, r)
	case query.TypeHealth:
		return d.health(ctx, r)
	case query.TypeEfficiency:
		return d.efficiency(ctx, r)
	case query.TypeForecast:
		return d.forecast(ctx, r)
	case query.TypeAnomaly:
		return d.anomaly(ctx, r)
	case query.TypeMemory:
		return d.memory(ctx, r)
	case query.TypeStragglers:
		return d.stragglers(ctx, r)
	case query.TypeTopology:
		return d.topology(ctx, r)
	}
	return nil, badInput(fmt.Errorf("query type %q is not answered by this version", r.query.Type))
}
