package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/gtime"
)

// Grafana's own defaults and limit for a query that comes without them.
const (
	defaultMaxDataPoints = 100
	defaultIntervalMS    = 1000
	maxQueryBytes        = 4 << 20
)

// queryRequest is the body of POST /api/ds/query. The times are Grafana's: epoch milliseconds, or relative like "now-15m".
type queryRequest struct {
	From    string            `json:"from"`
	To      string            `json:"to"`
	Queries []json.RawMessage `json:"queries"`
}

// queryHead is the part of a query that belongs to Grafana; the plugin reads the rest.
type queryHead struct {
	RefID         string  `json:"refId"`
	QueryType     string  `json:"queryType"`
	MaxDataPoints float64 `json:"maxDataPoints"`
	IntervalMS    float64 `json:"intervalMs"`
	Datasource    struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	TimeRange *struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"timeRange"`
}

// errorBody is how Grafana reports a request that was not carried out.
type errorBody struct {
	Message string `json:"message"`
}

// handleQuery answers POST /api/ds/query: 200, or 400 with the same body when a query of it failed, as Grafana does.
func (h *host) handleQuery(w http.ResponseWriter, r *http.Request) {
	var body queryRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQueryBytes)).Decode(&body); err != nil {
		writeJSON(w, http.StatusBadRequest, errorBody{fmt.Sprintf("read the queries: %s", err)})
		return
	}
	requests, err := h.splitQueries(body, r.Header)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, errorBody{err.Error()})
		return
	}
	answer := &backend.QueryDataResponse{Responses: backend.Responses{}}
	for _, request := range requests {
		response, err := h.queryData(r.Context(), request)
		if err != nil {
			h.writePluginError(w, err)
			return
		}
		for refID, one := range response.Responses {
			answer.Responses[refID] = one
		}
	}
	status := http.StatusOK
	for _, one := range answer.Responses {
		if one.Error != nil {
			status = http.StatusBadRequest
		}
	}
	writeJSON(w, status, answer)
}

// splitQueries makes one request per data source, in the order in which the data sources first appear.
func (h *host) splitQueries(body queryRequest, header http.Header) ([]*backend.QueryDataRequest, error) {
	if len(body.Queries) == 0 {
		return nil, errors.New("no queries found in the request")
	}
	byUID := map[string]*backend.QueryDataRequest{}
	var ordered []*backend.QueryDataRequest
	for i, raw := range body.Queries {
		var head queryHead
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("read query %d: %w", i+1, err)
		}
		request, ok := byUID[head.Datasource.UID]
		if !ok {
			pluginContext, err := h.pluginContext(head.Datasource.UID)
			if err != nil {
				return nil, err
			}
			request = &backend.QueryDataRequest{PluginContext: pluginContext, Headers: forwardedHeaders(header)}
			byUID[head.Datasource.UID] = request
			ordered = append(ordered, request)
		}
		query, err := head.dataQuery(raw, body)
		if err != nil {
			return nil, fmt.Errorf("read query %s: %w", head.RefID, err)
		}
		request.Queries = append(request.Queries, query)
	}
	return ordered, nil
}

func (q queryHead) dataQuery(raw json.RawMessage, body queryRequest) (backend.DataQuery, error) {
	from, to := body.From, body.To
	if q.TimeRange != nil {
		from, to = q.TimeRange.From, q.TimeRange.To
	}
	timeRange, err := parseTimeRange(from, to, time.Now())
	if err != nil {
		return backend.DataQuery{}, err
	}
	query := backend.DataQuery{
		RefID:         q.RefID,
		QueryType:     q.QueryType,
		MaxDataPoints: int64(q.MaxDataPoints),
		Interval:      time.Duration(q.IntervalMS) * time.Millisecond,
		TimeRange:     timeRange,
		JSON:          raw,
	}
	if query.RefID == "" {
		query.RefID = "A"
	}
	if query.MaxDataPoints <= 0 {
		query.MaxDataPoints = defaultMaxDataPoints
	}
	if query.Interval <= 0 {
		query.Interval = defaultIntervalMS * time.Millisecond
	}
	return query, nil
}

func parseTimeRange(from, to string, now time.Time) (backend.TimeRange, error) {
	parsed := gtime.NewTimeRange(from, to)
	start, err := parsed.ParseFrom(gtime.WithNow(now))
	if err != nil {
		return backend.TimeRange{}, fmt.Errorf("read the time %q: %w", from, err)
	}
	end, err := parsed.ParseTo(gtime.WithNow(now))
	if err != nil {
		return backend.TimeRange{}, fmt.Errorf("read the time %q: %w", to, err)
	}
	return backend.TimeRange{From: start, To: end}, nil
}

// forwardedHeaders are those that tell a plugin where a query came from.
func forwardedHeaders(header http.Header) map[string]string {
	forwarded := map[string]string{}
	for _, name := range []string{"X-Dashboard-Uid", "X-Panel-Id", "X-Panel-Plugin-Id", "X-Datasource-Uid", "X-Plugin-Id", "X-Query-Group-Id"} {
		if value := header.Get(name); value != "" {
			forwarded["http_"+name] = value
		}
	}
	return forwarded
}

func (h *host) queryData(ctx context.Context, request *backend.QueryDataRequest) (*backend.QueryDataResponse, error) {
	services, err := h.plugin.get()
	if err != nil {
		return nil, err
	}
	raw, err := services.data.QueryData(ctx, backend.ToProto().QueryDataRequest(request))
	if err != nil {
		return nil, fmt.Errorf("query the plugin: %w", err)
	}
	response, err := backend.FromProto().QueryDataResponse(raw)
	if err != nil {
		return nil, fmt.Errorf("read the plugin's answer: %w", err)
	}
	return response, nil
}
