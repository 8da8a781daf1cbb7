package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// secret is a value of a secret setting. They all have it in them, so that it is found wherever one is repeated.
const secret = "hunter2-mark"

// keyPair is a certificate of its own and its key, as people paste them.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "grafana"}, NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// parrot is a server, or a proxy before one, that repeats all it is sent.
type parrot struct {
	way    atomic.Int32
	mu     sync.Mutex
	heard  map[string]bool
	server *httptest.Server
}

func newParrot(t *testing.T) *parrot {
	t.Helper()
	p := &parrot{heard: map[string]bool{}}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

// ways are how it repeats: refusals, failures, redirects, warnings.
const ways = 8

func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var said strings.Builder
	p.mu.Lock()
	for name, values := range r.Header {
		for _, value := range values {
			fmt.Fprintf(&said, "%s: %s\n", name, value)
			if _, encoded, ok := strings.Cut(value, "Basic "); ok {
				plain, _ := base64.StdEncoding.DecodeString(encoded)
				fmt.Fprintf(&said, "that is %s\n", plain)
				value = string(plain)
			}
			p.heard[value] = true
		}
	}
	p.mu.Unlock()
	text, _ := json.Marshal(said.String())
	w.Header().Set("Content-Type", "application/json")
	refusal := func(status int) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"status":"error","errorType":"execution","error":%s}`, text)
	}
	switch p.way.Load() {
	case 0:
		refusal(http.StatusBadRequest)
	case 1:
		refusal(http.StatusInternalServerError)
	case 2:
		refusal(http.StatusUnauthorized)
	case 3:
		refusal(http.StatusOK)
	case 4:
		http.Redirect(w, r, "/login/"+strings.Join(strings.Fields(said.String()), "/"), http.StatusFound)
	case 5:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = fmt.Fprintf(w, "<html>%s</html>", said.String())
	case 6:
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[]},"warnings":[%s],"infos":[%[1]s]}`, text)
	default:
		_, _ = w.Write([]byte(said.String()))
	}
}

// redisParrot is a Redis that refuses with what it is sent.
func redisParrot(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				for in := bufio.NewReader(conn); ; {
					words := 0
					if _, err := fmt.Fscanf(in, "*%d\r\n", &words); err != nil {
						return
					}
					said := "-WRONGPASS"
					for range words {
						if _, err := in.ReadString('\n'); err != nil {
							return
						}
						word, err := in.ReadString('\n')
						if err != nil {
							return
						}
						said += " " + strings.TrimSpace(word)
					}
					if _, err := io.WriteString(conn, said+"\r\n"); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return listener.Addr().String()
}

// secretive is settings with a secret in every place that there is for one. broken puts them where they cannot be used.
func secretive(t *testing.T, p *parrot, redis string, broken bool) (settings *pluginv2.PluginContext, marks []string) {
	t.Helper()
	certificate, key := keyPair(t)
	secure := map[string]string{"httpHeaderValue1": "all-" + secret, "basicAuthPassword": "basic-" + secret, "tlsClientCert": certificate, "tlsClientKey": key}
	for prefix, kind := range map[string]string{
		"endpoint_a_": "password", "endpoint_b_": "token", "alertmanager_m_": "password", "agents_": "token", "agentgroup_g_": "password",
	} {
		secure[prefix+kind] = prefix + secret
		secure[prefix+"header_X-Key"] = prefix + "key-" + secret
		secure[prefix+"tlsClientCert"], secure[prefix+"tlsClientKey"] = certificate, key
		if broken {
			secure[prefix+"tlsClientKey"] = "no key " + secret
			secure[prefix+"header_X-Key"] = secret + "\nX: y"
		}
	}
	secure["cache_password"] = "cache-" + secret
	for _, line := range strings.Fields(key) {
		if len(line) > 40 {
			marks = append(marks, line[:40])
		}
	}
	for _, plain := range []string{"ada:endpoint_a_" + secret, "ada:alertmanager_m_" + secret, "ada:agentgroup_g_" + secret, "ada:basic-" + secret} {
		marks = append(marks, base64.StdEncoding.EncodeToString([]byte(plain)))
	}
	address := strings.TrimPrefix(p.server.URL, "http://")
	jsonData := fmt.Sprintf(`{
		"httpHeaderName1": "X-All", "oauthPassThru": true,
		"clusters": [{"name": "north", "endpoints": [
			{"id": "a", "url": %[1]q, "auth": "basic", "user": "ada", "headers": ["X-Key"], "timeout": "5s"},
			{"id": "b", "url": %[1]q, "auth": "bearer", "headers": ["X-Key"]},
			{"id": "c", "url": "http://127.0.0.1:1", "oauthPassThru": true}]}],
		"alertmanagers": [{"id": "m", "url": %[1]q, "auth": "basic", "user": "ada", "headers": ["X-Key"]}],
		"agents": {"discovery": "static", "allow": ["127.0.0.1", "localhost"], "auth": "bearer", "headers": ["X-Key"],
			"static": [{"cluster": "north", "address": %[2]q}, {"cluster": "north", "address": %[3]q}],
			"groups": [{"id": "g", "hosts": ["localhost"], "auth": "basic", "user": "ada", "headers": ["X-Key"]}]},
		"cache": {"remote": {"type": "redis", "addresses": [%[4]q], "user": "ada", "timeout": "100ms"}}
	}`, p.server.URL, address, strings.Replace(address, "127.0.0.1", "localhost", 1), redis)
	return backend.ToProto().PluginContext(backend.PluginContext{
		OrgID: 1, PluginID: "warpwatch-gpu-datasource", User: &backend.User{Login: "ada", Role: "Viewer"},
		DataSourceInstanceSettings: &backend.DataSourceInstanceSettings{
			ID: 1, UID: fmt.Sprint("gpu", broken), Type: "warpwatch-gpu-datasource", BasicAuthEnabled: true, BasicAuthUser: "ada",
			JSONData: json.RawMessage(jsonData), DecryptedSecureJSONData: secure, Updated: time.Unix(1, 0),
		},
	}), marks
}

func queryTypes() []string {
	return []string{
		query.TypeMetric, query.TypePromQL, query.TypeCoverage, query.TypeInventory, query.TypeProcesses, query.TypeEvents, query.TypeBottleneck,
		query.TypeHealth, query.TypeEfficiency, query.TypeForecast, query.TypeAnomaly, query.TypeMemory, query.TypeStragglers, query.TypeTopology,
	}
}

// everything is all that somebody can ask of a data source, as one text.
func (g grafana) everything(t *testing.T, plugin *pluginv2.PluginContext) string {
	t.Helper()
	queries := map[string]string{"broken": `{"queryType":"metric","metric":`}
	for _, kind := range queryTypes() {
		queries[kind] = fmt.Sprintf(`{"queryType":%q,"metric":"gpu_power_watts","expr":"up"}`, kind)
	}
	queries["instant"] = `{"queryType":"promql","expr":"up","instant":true,"exemplars":true}`
	queries["silences"] = `{"queryType":"events","kinds":["silence","alert"]}`
	var all strings.Builder
	for ref, answer := range g.query(t, plugin, queries) {
		raw, err := json.Marshal(answer.Frames)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s: %v %s\n", ref, answer.Error, raw)
	}
	health, err := g.diagnostics.CheckHealth(t.Context(), &pluginv2.CheckHealthRequest{PluginContext: plugin, Headers: map[string]string{"Authorization": "Bearer ada-" + secret}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&all, "health: %s %s\n", health.Message, health.JsonDetails)
	for _, url := range []string{
		"metrics", "variables?kind=node", "variables?kind=gpu", "variables?kind=cluster", "agents", "agents/page?limit=10", "coverage", "rules", "none",
	} {
		fmt.Fprintf(&all, "%s: %s\n", url, g.callResource(t, plugin, url))
	}
	path := "metric/x"
	subscription, err := g.stream.SubscribeStream(t.Context(), &pluginv2.SubscribeStreamRequest{PluginContext: plugin, Path: path, Data: []byte(`{"query":{}}`)})
	fmt.Fprintf(&all, "subscription: %v %v\n", subscription, err)
	return all.String()
}

// No secret of the settings, and no token of a user, is in an answer, an error, a notice, the health or the log, whatever the
// servers repeat of it.
func TestSecretsAreNowhere(t *testing.T) {
	var stderr lockedBuffer
	g := startPluginLogging(t, &stderr)
	p, redis := newParrot(t), redisParrot(t)
	for _, broken := range []bool{false, true} {
		for way := range int32(ways) {
			p.way.Store(way)
			plugin, marks := secretive(t, p, redis, broken)
			plugin.DataSourceInstanceSettings.LastUpdatedMS = int64(way) + 1 // nothing is remembered of the way before
			all := g.everything(t, plugin)
			for _, mark := range append(marks, "-mark", base64.StdEncoding.EncodeToString([]byte(secret))) {
				for _, line := range strings.Split(all+stderr.String(), "\n") {
					if strings.Contains(line, mark) {
						t.Errorf("way %d, broken %t: %q in %.2000s", way, broken, mark, line)
					}
				}
			}
			if broken {
				break // nobody is asked
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, want := range []string{
		"all-", "endpoint_a_key-", "ada:endpoint_a_", "Bearer endpoint_b_", "endpoint_b_key-", "ada:alertmanager_m_", "alertmanager_m_key-",
		"Bearer agents_", "agents_key-", "ada:agentgroup_g_", "agentgroup_g_key-",
	} {
		if !p.heard[want+secret] {
			t.Errorf("%s… was not sent, so nothing is shown by its not being repeated", want)
		}
	}
	if stderr.String() == "" {
		t.Error("nothing was logged, so nothing is shown")
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
