package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// call sends one request to the host and returns status and body.
func call(h *host, method, target, body string, change ...func(*http.Request)) (int, http.Header, string) {
	request := httptest.NewRequest(method, "http://127.0.0.1:3000"+target, strings.NewReader(body))
	for _, c := range change {
		c(request)
	}
	recorder := httptest.NewRecorder()
	h.handler().ServeHTTP(recorder, request)
	return recorder.Code, recorder.Header(), recorder.Body.String()
}

func TestQueryAnswersInGrafanasShape(t *testing.T) {
	h := startHost(t)

	status, _, body := call(h, "POST", "/api/ds/query", `{"from":"now-15m","to":"now","queries":[{"refId":"A","datasource":{"uid":"gpu"},"maxDataPoints":7,"intervalMs":2000}]}`,
		func(r *http.Request) { r.Header.Set("X-Panel-Id", "4") })

	require.Equal(t, http.StatusOK, status, body)
	var answer struct {
		Results map[string]struct {
			Status int
			Frames []struct {
				Schema struct {
					RefID string
					Meta  struct{ Custom map[string]string }
				}
				Data struct{ Values [][]float64 }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	a := answer.Results["A"]
	assert.Equal(t, 200, a.Status)
	require.Len(t, a.Frames, 1)
	assert.Equal(t, "A", a.Frames[0].Schema.RefID)
	assert.Equal(t, map[string]string{"uid": "gpu", "panel": "4", "range": "15m0s", "interval": "2s"}, a.Frames[0].Schema.Meta.Custom)
	assert.Equal(t, 7.0, a.Frames[0].Data.Values[1][0])
}

func TestQueryWithOneErrorIs400AndKeepsTheOthers(t *testing.T) {
	h := startHost(t)

	status, _, body := call(h, "POST", "/api/ds/query", `{"from":"1700000000000","to":"1700000060000","queries":[{"refId":"A"},{"refId":"bad"}]}`)

	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, `"bad":{"error":"metric: unknown","errorSource":"downstream","status":400`)
	assert.Contains(t, body, `"range":"1m0s"`)
}

func TestQueryRefusesWhatItCannotRead(t *testing.T) {
	h := startHost(t)
	for name, body := range map[string]string{
		"half a body":         `{"from":`,
		"no queries":          `{"from":"now-1h","to":"now","queries":[]}`,
		"a time":              `{"from":"yesterday-ish","to":"now","queries":[{"refId":"A"}]}`,
		"unknown data source": `{"from":"now-1h","to":"now","queries":[{"refId":"A","datasource":{"uid":"nope"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			status, _, answer := call(h, "POST", "/api/ds/query", body)
			assert.Equal(t, http.StatusBadRequest, status)
			assert.Contains(t, answer, `"message":`)
		})
	}
}

func TestResourcePassesUrlAndSecretsButNoCookies(t *testing.T) {
	h := startHost(t)

	status, header, body := call(h, "GET", "/api/datasources/uid/gpu/resources/variables?kind=gpu&node=a%2Fb", "", func(r *http.Request) { r.Header.Set("Cookie", "x=y") })

	assert.Equal(t, 207, status)
	assert.Empty(t, header.Get("Set-Cookie"))
	assert.JSONEq(t, `{"path":"variables","url":"variables?kind=gpu&node=a%2Fb","cookie":null,"secret":"s3cret"}`, body)
}

func TestHealthHasGrafanasShape(t *testing.T) {
	h := startHost(t)

	status, _, body := call(h, "GET", "/api/datasources/uid/gpu/health", "")

	assert.Equal(t, http.StatusBadRequest, status)
	assert.JSONEq(t, `{"status":"ERROR","message":"1 of 2 endpoints answers","details":{"verboseMessage":"north"}}`, body)
}

func TestSettingsNeverCarrySecrets(t *testing.T) {
	h := startHost(t)
	for _, target := range []string{"/api/frontend/settings", "/api/datasources", "/api/datasources/uid/gpu"} {
		status, _, body := call(h, "GET", target, "")
		assert.Equal(t, http.StatusOK, status, target)
		assert.NotContains(t, body, "s3cret", target)
		assert.Contains(t, body, `"secureJsonFields":{"token":true}`, target)
		assert.Contains(t, body, `"cost":"5$"`, target)
	}
}

func TestDashboardsAndFiles(t *testing.T) {
	h := startHost(t)

	_, _, body := call(h, "GET", "/api/search?type=dash-db", "")
	assert.JSONEq(t, `[{"uid":"gpu","title":"GPU node","type":"dash-db","url":"/d/gpu","tags":["role:sre"]}]`, body)
	_, _, body = call(h, "GET", "/api/dashboards/uid/gpu", "")
	assert.Contains(t, body, `"title":"GPU node"`)
	status, _, _ := call(h, "GET", "/api/dashboards/uid/none", "")
	assert.Equal(t, http.StatusNotFound, status)

	_, header, body := call(h, "GET", "/public/plugins/fake-datasource/module.js", "")
	assert.Contains(t, body, "define(")
	assert.Contains(t, header.Get("Content-Type"), "javascript")
	status, _, _ = call(h, "GET", "/public/plugins/fake-app/datasource/gpx_fake_linux_amd64", "")
	assert.Equal(t, http.StatusNotFound, status)
	_, _, body = call(h, "GET", "/d/gpu?var-node=a", "")
	assert.Contains(t, body, "<title>preview</title>")
}

func TestOnlyThisMachineAndThisOriginMayCall(t *testing.T) {
	h := startHost(t)
	query := `{"from":"now-1h","to":"now","queries":[{"refId":"A"}]}`

	status, _, body := call(h, "POST", "/api/ds/query", query, func(r *http.Request) { r.Host = "gpu.example.com:3000" })
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, body, "gpu.example.com")

	status, _, _ = call(h, "POST", "/api/ds/query", query, func(r *http.Request) { r.Header.Set("Origin", "https://gpu.example.com") })
	assert.Equal(t, http.StatusForbidden, status)

	status, header, _ := call(h, "POST", "/api/ds/query", query, func(r *http.Request) {
		r.Host = "localhost:3000"
		r.Header.Set("Origin", "http://localhost:3000")
	})
	assert.Equal(t, http.StatusOK, status)
	assert.Empty(t, header.Get("Access-Control-Allow-Origin"))

	status, _, _ = call(h, "DELETE", "/api/datasources/uid/gpu", "")
	assert.Equal(t, http.StatusNotFound, status)
}

func TestADeadPluginIsStartedAgain(t *testing.T) {
	h := startHost(t)

	status, _, _ := call(h, "GET", "/api/datasources/uid/gpu/resources/die", "")
	assert.GreaterOrEqual(t, status, 500)

	require.Eventually(t, func() bool {
		status, _, _ := call(h, "GET", "/api/health", "")
		return status == http.StatusServiceUnavailable
	}, 5*time.Second, 5*time.Millisecond, "the death is noticed")
	require.Eventually(t, func() bool {
		status, _, _ := call(h, "GET", "/api/datasources/uid/gpu/resources/metrics", "")
		return status == 207
	}, 20*time.Second, 50*time.Millisecond, "the plugin is back")
}

func TestRefusesAddressesOthersCanReach(t *testing.T) {
	for _, address := range []string{":3000", "0.0.0.0:3000", "192.0.2.7:3000", "[::]:3000", "gpu.example.com:80", "3000"} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, run([]string{"--listen", address}, &stdout, &stderr), address)
		assert.Contains(t, stderr.String(), "--listen", address)
	}
	for _, address := range []string{"127.0.0.1:3000", "[::1]:0", "localhost:3000", "127.8.8.8:1"} {
		assert.NoError(t, checkLoopback(address), address)
	}
}

func TestStartsOnlyWithAPlugin(t *testing.T) {
	var stderr bytes.Buffer
	assert.Equal(t, 1, run([]string{"--listen", "127.0.0.1:0", "--dist", t.TempDir()}, io.Discard, &stderr))
	assert.Contains(t, stderr.String(), "npm run build")
}
