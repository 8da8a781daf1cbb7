package plugin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"

	"github.com/warpwatch/warpwatch/pkg/settings"
)

// listener is a Prometheus that writes down what it is sent.
type listener struct {
	url  string
	mu   sync.Mutex
	sent []http.Header
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.sent = append(l.sent, r.Header.Clone())
		l.mu.Unlock()
		if strings.Contains(r.URL.Path, "/label") {
			_, _ = w.Write([]byte(`{"status":"success","data":[]}`))
			return
		}
		_, _ = w.Write([]byte(emptyVector))
	})
	return l
}

// values of a header over all requests since the last call.
func (l *listener) values(name string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, header := range l.sent {
		all = append(all, header.Get(name))
	}
	l.sent = nil
	slices.Sort(all)
	return slices.Compact(all)
}

// open makes a data source with one endpoint, and more in its settings.
func openEndpoint(t *testing.T, endpoint map[string]any, top map[string]any, secure map[string]string) *fleet {
	t.Helper()
	endpoint["id"] = "a"
	all := map[string]any{
		"agents": map[string]any{"discovery": "off"}, "clusters": []any{map[string]any{"name": "north", "endpoints": []any{endpoint}}},
	}
	for key, value := range top {
		all[key] = value
	}
	return &fleet{Datasource: openDatasource(t, backend.DataSourceInstanceSettings{JSONData: mustJSON(t, all), DecryptedSecureJSONData: secure})}
}

// The identity of whoever asks is there in all calls of a user, and where nobody is nothing is asked (grafana/grafana#80698).
func TestForwardedIdentity(t *testing.T) {
	server := listen(t)
	f := openEndpoint(t, map[string]any{"url": server.url, "oauthPassThru": true}, map[string]any{"oauthPassThru": true, "basicAuth": true, "basicAuthUser": "x"}, nil)
	user := map[string]string{backend.OAuthIdentityTokenHeaderName: "Bearer ada", backend.OAuthIdentityIDTokenHeaderName: "ada-id"}
	calls := map[string]func(headers map[string]string) string{
		"query": func(headers map[string]string) string {
			answer := f.ask(t, time.Hour, headers, map[string]string{"A": `{"queryType":"promql","expr":"up"}`})["A"]
			if answer.Error != nil {
				return answer.Error.Error()
			}
			return ""
		},
		"health": func(headers map[string]string) string {
			result, err := f.CheckHealth(t.Context(), &backend.CheckHealthRequest{Headers: headers})
			if err != nil {
				t.Fatal(err)
			}
			if result.Status != backend.HealthStatusOk {
				return result.Message
			}
			return ""
		},
		"variable": func(headers map[string]string) string {
			list := map[string][]string{}
			for name, value := range headers {
				list[name] = []string{value}
			}
			body := ""
			err := f.CallResource(t.Context(), &backend.CallResourceRequest{Method: "GET", Path: "variables/gpus", URL: "variables/gpus", Headers: list},
				backend.CallResourceResponseSenderFunc(func(r *backend.CallResourceResponse) error {
					body += string(r.Body)
					return nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			return body
		},
	}
	for name, call := range calls {
		answer := call(user)
		if strings.Contains(answer, "identity") {
			t.Errorf("%s: %s", name, answer)
		}
		if got := server.values("Authorization"); name != "variable" && !slices.Equal(got, []string{"Bearer ada"}) || name == "variable" && len(got) > 0 && got[0] != "Bearer ada" {
			t.Errorf("%s was sent with %q", name, got)
		}
		if answer = call(nil); name != "variable" && !strings.Contains(answer, "a: the endpoint forwards the identity of whoever asks, and this request has none: alert rules") {
			t.Errorf("%s without a user: %s", name, answer)
		}
		if got := server.values("Authorization"); len(got) > 0 {
			t.Errorf("%s without a user was sent with %q", name, got)
		}
	}
}

func TestIdentityIsKeptFromEndpointsThatMustNotHaveIt(t *testing.T) {
	server := listen(t)
	user := map[string]string{backend.OAuthIdentityTokenHeaderName: "Bearer ada", backend.CookiesHeaderName: "session=1"}
	for forward, want := range map[any]string{nil: "Bearer ada", false: ""} {
		endpoint := map[string]any{"url": server.url}
		if forward != nil {
			endpoint["oauthPassThru"] = forward
		}
		f := openEndpoint(t, endpoint, map[string]any{"oauthPassThru": true}, nil)
		f.ask(t, time.Hour, user, map[string]string{"A": `{"queryType":"promql","expr":"up"}`})
		if got := server.values("Authorization"); !slices.Equal(got, []string{want}) {
			t.Errorf("oauthPassThru %v: sent %q", forward, got)
		}
	}
}

func TestHeadersOfAnEndpoint(t *testing.T) {
	server := listen(t)
	f := openEndpoint(t, map[string]any{"url": server.url, "headers": []string{"X-Scope-OrgID", "X-Other"}}, map[string]any{"httpHeaderName1": "X-Scope-OrgID"},
		map[string]string{"httpHeaderValue1": "everyone", "endpoint_a_header_X-Scope-OrgID": "team-a", "endpoint_a_header_X-Other": "1"})
	f.frames(t, time.Hour, `{"queryType":"promql","expr":"up"}`)
	if got := server.values("X-Scope-OrgID"); !slices.Equal(got, []string{"team-a"}) {
		t.Errorf("sent %q", got)
	}
}

func TestClientCertificateOfAnEndpoint(t *testing.T) {
	certificate, key := selfSigned(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(certificate))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(emptyVector))
		if r.TLS.PeerCertificates[0].Subject.CommonName != "grafana" {
			t.Errorf("shown the certificate of %s", r.TLS.PeerCertificates[0].Subject)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	f := openEndpoint(t, map[string]any{"url": server.URL}, nil,
		map[string]string{"endpoint_a_caCert": authority, "endpoint_a_tlsClientCert": certificate, "endpoint_a_tlsClientKey": key})
	f.frames(t, time.Hour, `{"queryType":"promql","expr":"up"}`)
}

// What an endpoint does not say about TLS the data source does.
func TestTLSOfAnEndpoint(t *testing.T) {
	base := &httpclient.TLSOptions{CACertificate: "ca", ServerName: "name", InsecureSkipVerify: true, ClientCertificate: "cert", ClientKey: "key"}
	for what, one := range map[string]struct {
		says settings.TLS
		want httpclient.TLSOptions
	}{
		"nothing": {settings.TLS{}, *base},
		"a certificate to show": {
			settings.TLS{ClientCert: "own", ClientKey: settings.NewSecret("own key")},
			httpclient.TLSOptions{CACertificate: "ca", ServerName: "name", InsecureSkipVerify: true, ClientCertificate: "own", ClientKey: "own key"},
		},
		"an authority": {
			settings.TLS{CACert: "own"},
			httpclient.TLSOptions{CACertificate: "own", ServerName: "name", ClientCertificate: "cert", ClientKey: "key"},
		},
		"a name": {
			settings.TLS{ServerName: "own"},
			httpclient.TLSOptions{CACertificate: "ca", ServerName: "own", ClientCertificate: "cert", ClientKey: "key"},
		},
		"no verification": {settings.TLS{SkipVerify: true}, *base},
	} {
		if got := endpointTLS(base, one.says); *got != one.want {
			t.Errorf("%s: got %+v, want %+v", what, *got, one.want)
		}
	}
	if got := endpointTLS(nil, settings.TLS{SkipVerify: true}); !got.InsecureSkipVerify {
		t.Errorf("got %+v", got)
	}
}

// selfSigned is a certificate for "grafana" and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "grafana"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}))
}

func TestSecureSocksThatGrafanaDoesNotHave(t *testing.T) {
	instance, err := NewDatasource(context.Background(), backend.DataSourceInstanceSettings{JSONData: mustJSON(t, map[string]any{
		"agents":   map[string]any{"discovery": "off"},
		"clusters": []any{map[string]any{"name": "north", "endpoints": []any{map[string]any{"id": "a", "url": "http://a", "secureSocksProxy": true}}}},
	})})
	if err != nil {
		t.Fatal(err)
	}
	d := instance.(*Datasource)
	t.Cleanup(d.Dispose)
	want := "endpoint a: secureSocksProxy is on, but this Grafana has no secure SOCKS proxy: let its administrator set up [secure_socks_datasource_proxy], or turn it off"
	if d.broken == nil || d.broken.Error() != want {
		t.Errorf("got %v, want %s", d.broken, want)
	}
}
