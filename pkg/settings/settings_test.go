package settings_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// client makes a certificate and its key. They stand for $CERTIFICATE and $KEY in the corpus.
var client = sync.OnceValues(func() (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}))
})

// stored is one file of the corpus: what Grafana hands over, and the messages it must give.
type stored struct {
	JSONData       json.RawMessage   `json:"jsonData"`
	RawJSONData    string            `json:"rawJsonData"` // where it is not valid JSON
	SecureJSONData map[string]string `json:"secureJsonData"`
	Errors         []string          `json:"errors"`
}

func read(t *testing.T, path string) (stored, json.RawMessage) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s stored
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	certificate, key := client()
	for name, value := range s.SecureJSONData {
		s.SecureJSONData[name] = strings.NewReplacer("$CERTIFICATE", certificate, "$KEY", key).Replace(value)
	}
	if s.RawJSONData != "" {
		return s, json.RawMessage(s.RawJSONData)
	}
	return s, s.JSONData
}

// Every rejected file gives exactly the messages written beside it, and none of them shows a secret.
func TestParseRejects(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			want, jsonData := read(t, file)
			_, err := settings.Parse(jsonData, want.SecureJSONData)
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(strings.Join(want.Errors, "\n"), err.Error()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the message shows a secret")
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	open := settings.Access{Scheme: "http", Auth: settings.Auth{Method: "none"}}
	want := map[string]settings.Settings{
		"minimal": {
			ScrapeInterval: 15 * time.Second,
			Clusters: []settings.Cluster{{Name: "north", Endpoints: []settings.Endpoint{
				{ID: "north-a", URL: "http://127.0.0.1:9090", Timeout: 30 * time.Second, Auth: settings.Auth{Method: "none"}},
			}}},
			Agents: settings.Agents{Discovery: "prometheus", Access: open},
		},
		"full": {
			ScrapeInterval: 30 * time.Second,
			NoticeLevel:    gpu.Warning,
			Clusters: []settings.Cluster{
				{Name: "north", Endpoints: []settings.Endpoint{
					{
						ID: "north-a", URL: "https://prom.example.com/prometheus", Timeout: 10 * time.Second, ReplicaLabels: []string{"replica"},
						Auth: settings.Auth{Method: "basic", User: "grafana", Secret: settings.NewSecret("pw-1")},
						TLS:  settings.TLS{ServerName: "prom.internal", CACert: "PEM"},
					},
					{
						ID: "north-b", URL: "http://127.0.0.1:9091", Timeout: 30 * time.Second,
						Auth: settings.Auth{Method: "bearer", Secret: settings.NewSecret("tok-2")}, TLS: settings.TLS{SkipVerify: true},
					},
				}},
				{Name: "south", Endpoints: []settings.Endpoint{
					{ID: "south", URL: "http://[::1]:9090", Timeout: 30 * time.Second, Auth: settings.Auth{Method: "none"}},
				}},
			},
			Agents: settings.Agents{
				Discovery: "prometheus", Allow: []string{"*.gpu.example.com", "10.0.0.0/8", "127.0.0.1", "gpu-*.example.com", "*", "[::1]"},
				Access: settings.Access{
					Scheme: "https", Auth: settings.Auth{Method: "bearer", Secret: settings.NewSecret("tok-3")},
					TLS: settings.TLS{ServerName: "agent", CACert: "PEM"},
				},
			},
		},
		"agents_only": {
			ScrapeInterval: 15 * time.Second,
			Agents: settings.Agents{
				Discovery: "static", Allow: []string{"node-1"}, Access: open,
				Static: []settings.StaticAgent{
					{Cluster: "north", Address: "node-1:9847"}, {Cluster: "north", Address: "10.1.2.3:9000"},
					{Cluster: "north", Address: "[fe80::1]:9847"}, {Address: "[::1]:9847"},
				},
			},
		},
		"misspelt_keys": {
			ScrapeInterval: 15 * time.Second,
			Clusters: []settings.Cluster{{Name: "north", Endpoints: []settings.Endpoint{
				{ID: "north-a", URL: "http://127.0.0.1:9090", Timeout: 30 * time.Second, Auth: settings.Auth{Method: "none"}},
			}}},
			Agents: settings.Agents{Discovery: "prometheus", Access: open},
			Unknown: []string{
				"agents.allowed", "cache.remot", "clusters[0].endpoints[0].timout", "clusters[0].nam", "noticelevels", "scrapInterval",
				"secureJsonData.agents_pasword", "secureJsonData.cache_pass", "secureJsonData.endpoint_north-b_token",
			},
		},
	}
	for name, expected := range want {
		// What every file leaves out.
		expected.FailedEndpoint, expected.MaxSeries, expected.Cache.MaxBytes = gpu.Warning, 1000, 256<<20
		expected.Insight = settings.Insight{Currency: "USD", Places: settings.DefaultPlaces()}
		expected.Live = settings.Live{MaxStreams: 2000, MaxUserStreams: 256}
		for _, c := range expected.Clusters {
			for i := range c.Endpoints {
				c.Endpoints[i].Concurrency, c.Endpoints[i].Compression = 20, settings.CompressAuto
			}
		}
		want[name] = expected
	}
	want["everything"] = everything()
	secret := cmp.Comparer(func(a, b settings.Secret) bool { return a.Reveal() == b.Reveal() })
	certificate := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".CACert" || p.Last().String() == ".ClientCert" },
		cmp.Comparer(func(a, b string) bool { return (a == "") == (b == "") }))
	for name, expected := range want {
		t.Run(name, func(t *testing.T) {
			in, jsonData := read(t, filepath.Join("testdata/good", name+".json"))
			got, err := settings.Parse(jsonData, in.SecureJSONData)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(expected, got, secret, certificate, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// everything is what the file of this name says: all that may be set.
func everything() settings.Settings {
	_, clientKey := client()
	return settings.Settings{
		ScrapeInterval: 15 * time.Second, FailedEndpoint: gpu.Error, MaxSeries: 200,
		Cache: settings.Cache{MaxBytes: 1 << 30, Remote: settings.RemoteCache{
			Type: "redis", Addresses: []string{"cache-1.example.com:6379", "[::1]:6380"}, User: "grafana", Password: settings.NewSecret("tok-9"),
			Database: 3, TLS: true, Timeout: 200 * time.Millisecond,
		}},
		Live:     settings.Live{MaxStreams: 500, MaxUserStreams: 40},
		Dialects: json.RawMessage(`[{"name":"acme"}]`),
		Insight:  settings.Insight{Currency: "USD", Places: settings.DefaultPlaces()},
		Clusters: []settings.Cluster{{Name: "north", Endpoints: []settings.Endpoint{
			{
				ID: "north-a", URL: "https://a.example.com", Role: settings.Replica, Auth: settings.Auth{Method: "none"}, Forward: settings.ForwardAlways,
				Headers: []settings.Header{{Name: "X-Scope-OrgID", Value: settings.NewSecret("tok-7")}, {Name: "x-key", Value: settings.NewSecret("tok-8")}},
				TLS:     settings.TLS{ClientCert: "PEM", ClientKey: settings.NewSecret(clientKey)}, SecureSocks: settings.On,
				Timeout: time.Minute, Concurrency: 5, ReplicaLabels: []string{"replica", "prometheus_replica"}, Compression: settings.CompressOn,
			},
			{
				ID: "north-b", URL: "https://b.example.com", Role: settings.Replica, Auth: settings.Auth{Method: "none"}, Forward: settings.ForwardNever,
				SecureSocks: settings.Off, Timeout: 30 * time.Second, Concurrency: 20, Compression: settings.CompressOff,
			},
		}}},
		Agents: settings.Agents{
			Discovery: "prometheus", Access: settings.Access{
				Scheme: "https", Auth: settings.Auth{Method: "none"},
				TLS: settings.TLS{ClientCert: "PEM", ClientKey: settings.NewSecret(clientKey)},
			},
		},
	}
}

// However settings are printed, no secret comes out.
func TestSecretsStayHidden(t *testing.T) {
	printed := ""
	for _, file := range []string{"full", "everything"} {
		in, jsonData := read(t, "testdata/good/"+file+".json")
		got, err := settings.Parse(jsonData, in.SecureJSONData)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		printed += string(asJSON)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			printed += fmt.Sprintf(verb, got)
		}
	}
	for _, secret := range []string{"pw-1", "tok-2", "tok-3", "tok-7", "tok-8", "tok-9", "PRIVATE KEY", fmt.Sprintf("%x", "pw-1")} {
		if strings.Contains(printed, secret) {
			t.Errorf("%q shows", secret)
		}
	}
}

// What is quoted of a URL holds none of the ways in which people put secrets into one, and no more than people read.
func TestBadURLsAreNotRepeatedWhole(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://h/?token=hunter2":                       `"ftp://h/" does not start with http:// or https://`,
		"http:///x?token=hunter2":                      `"http:///x" names no host`,
		"http://h:99999":                               `"http://h:99999" has a port that does not exist: write 1 to 65535`,
		"http://h/#hunter2":                            `"http://h/" has a query or fragment`,
		"gopher://" + strings.Repeat("a", 1_000_000):   `…" does not start with http://`,
		"http://h/" + strings.Repeat("a", 5000) + "?k": `…" has a query or fragment`,
	} {
		_, err := settings.Parse(fmt.Appendf(nil, `{"clusters":[{"name":"n","endpoints":[{"id":"a","url":%q}]}]}`, url), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 500 {
			t.Errorf("%.60s: got %.400v, want %s", url, err, want)
		}
	}
}

// Whatever is stored, parsing ends with settings or with a message, never with a panic.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"good", "bad"} {
		files, err := filepath.Glob("testdata/" + dir + "/*.json")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			var s stored
			if err := json.Unmarshal(raw, &s); err != nil {
				f.Fatal(err)
			}
			f.Add([]byte(s.JSONData), "endpoint_a_token")
		}
	}
	f.Fuzz(func(t *testing.T, jsonData []byte, key string) {
		_, err := settings.Parse(jsonData, map[string]string{key: "hunter2"})
		if err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(string(jsonData), "hunter2") {
			t.Errorf("the message shows a secret: %v", err)
		}
	})
}
