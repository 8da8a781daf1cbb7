package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// ownStores is a Prometheus that shows each user what is theirs, and nobody else anything.
type ownStores map[string]*promtest.Store

func (o ownStores) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	store, known := o[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	store.ServeHTTP(w, r)
}

// asUser asks everything as a user, and returns all that came as text, by what was asked.
func asUser(ctx context.Context, t *testing.T, d *Datasource, user string) map[string]string {
	t.Helper()
	all := map[string]string{}
	request := &backend.QueryDataRequest{Headers: map[string]string{backend.OAuthIdentityTokenHeaderName: "Bearer " + user}}
	for _, kind := range []string{
		query.TypeMetric, query.TypePromQL, query.TypeCoverage, query.TypeInventory, query.TypeEvents, query.TypeBottleneck, query.TypeHealth,
		query.TypeEfficiency, query.TypeForecast, query.TypeAnomaly, query.TypeMemory, query.TypeStragglers, query.TypeTopology,
	} {
		q := fmt.Sprintf(`{"queryType":%q,"metric":"gpu_power_watts","expr":"DCGM_FI_DEV_POWER_USAGE"}`, kind)
		request.Queries = append(request.Queries, backend.DataQuery{
			RefID: kind, QueryType: kind, JSON: json.RawMessage(q), MaxDataPoints: 500, TimeRange: backend.TimeRange{From: recordedAt.Add(-time.Hour), To: recordedAt},
		})
	}
	response, err := d.QueryData(ctx, request)
	if err != nil {
		t.Error(err)
		return nil
	}
	for kind, answer := range response.Responses {
		raw, err := json.Marshal(answer.Frames)
		if err != nil {
			t.Error(err)
		}
		all[kind] = fmt.Sprint(answer.Error, string(raw))
	}
	for _, url := range []string{"variables?kind=node", "variables?kind=gpu", "coverage"} {
		path, _, _ := strings.Cut(url, "?")
		call := &backend.CallResourceRequest{
			Method: http.MethodGet, Path: path, URL: url, Headers: map[string][]string{backend.OAuthIdentityTokenHeaderName: {"Bearer " + user}},
		}
		err := d.CallResource(ctx, call, backend.CallResourceResponseSenderFunc(func(r *backend.CallResourceResponse) error {
			all[url] += string(r.Body)
			return nil
		}))
		if err != nil {
			t.Error(err)
		}
	}
	return all
}

// Users of a data source that forwards who they are never see what a server shows another: not in answers, judgements, what is
// learned, variables, nor out of a cache that Grafanas share.
func TestUsersNeverSeeEachOthersAnswers(t *testing.T) {
	users := []string{"ada", "bob", "eve"}
	stores := ownStores{}
	for _, user := range users[:2] { // nothing is shown to eve
		s := &promtest.Store{}
		gpusNamed(s, []string{user + "-node-1", user + "-node-2"})
		stores[user] = s
	}
	url := promtest.Serve(t, stores)
	for kind, speak := range map[string]func(*shelf, *bufio.Reader, io.Writer) error{"redis": redis, "memcached": memcached} {
		cache := &shelf{values: map[string]string{}}
		stored := backend.DataSourceInstanceSettings{UID: "gpu", JSONData: mustJSON(t, map[string]any{
			"oauthPassThru": true, "agents": map[string]any{"discovery": "off"},
			"clusters": []any{map[string]any{"name": "north", "endpoints": []any{map[string]any{"id": "a", "url": url, "oauthPassThru": true}}}},
			"cache":    map[string]any{"remote": map[string]any{"type": kind, "addresses": []string{cache.serve(t, speak)}, "timeout": "1s"}},
		})}
		for grafana := range 2 { // the second has only the cache in common with the first
			d := openDatasource(t, stored)
			d.now = func() time.Time { return recordedAt }
			for range 2 {
				var all sync.WaitGroup
				for _, user := range users {
					all.Go(func() {
						for asked, got := range asUser(t.Context(), t, d, user) {
							for _, other := range users {
								if other != user && strings.Contains(got, other+"-node") {
									t.Errorf("%s, Grafana %d: %s sees what is %s's in %s: %.300s", kind, grafana, user, other, asked, got)
								}
							}
							own := asked == query.TypeMetric || asked == query.TypePromQL || asked == query.TypeInventory || asked == query.TypeBottleneck ||
								asked == query.TypeHealth || asked == "variables?kind=node"
							if own && user != "eve" && !strings.Contains(got, user+"-node-1") {
								t.Errorf("%s, Grafana %d: %s does not see their own in %s: %.300s", kind, grafana, user, asked, got)
							}
						}
					})
				}
				all.Wait()
			}
		}
		cache.mu.Lock()
		if len(cache.values) == 0 {
			t.Errorf("nothing was shared by %s, so nothing is shown", kind)
		}
		cache.mu.Unlock()
	}
}
