package otlpexport

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	const good = "https://collector:4318/v1/metrics"
	for name, test := range map[string]struct {
		config Config
		want   string // "" for valid
	}{
		"off":                {Config{}, ""},
		"on":                 {Config{Endpoint: good}, ""},
		"no path":            {Config{Endpoint: "http://[::1]:4318"}, ""},
		"everything":         {Config{Endpoint: good, Interval: 10 * time.Second, Timeout: 5 * time.Second, CertFile: "c", KeyFile: "k", CAFile: "a", Compression: "none"}, ""},
		"half":               {Config{Interval: time.Second}, "otlp: endpoint must be given, or the whole section left out"},
		"no scheme":          {Config{Endpoint: "collector:4318"}, "otlp: endpoint must be a URL like https://collector:4318/v1/metrics"},
		"gRPC":               {Config{Endpoint: "grpc://collector:4317"}, "otlp: endpoint must be a URL like https://collector:4318/v1/metrics"},
		"no host":            {Config{Endpoint: "https:///v1/metrics"}, "otlp: endpoint must be a URL like https://collector:4318/v1/metrics"},
		"secret in URL":      {Config{Endpoint: "https://me:hunter2@collector"}, "otlp: endpoint must not hold a user or password: put an Authorization line into headers_file"},
		"query":              {Config{Endpoint: good + "?key=hunter2"}, "otlp: endpoint must end with its path"},
		"too often":          {Config{Endpoint: good, Interval: time.Millisecond}, "otlp: interval: 1ms must be 1s to 1h0m0s"},
		"slow":               {Config{Endpoint: good, Interval: 2 * time.Second, Timeout: 3 * time.Second}, "otlp: timeout: 3s must be more than 0s and at most the interval, 2s"},
		"half a certificate": {Config{Endpoint: good, CertFile: "c"}, "otlp: cert_file and key_file must be given together"},
		"compression":        {Config{Endpoint: good, Compression: "zstd"}, `otlp: compression: "zstd" must be "gzip" or "none"`},
		"TLS without TLS":    {Config{Endpoint: "http://collector", CAFile: "a"}, "otlp: ca_file, cert_file and insecure_skip_verify need an endpoint that starts with https://"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.config.Validate()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err := newTransport(Config{CAFile: empty})
	assert.EqualError(t, err, "otlp: ca_file: "+empty+" holds no certificate in PEM form")
	_, err = newTransport(Config{CAFile: empty + "not"})
	assert.ErrorContains(t, err, "otlp: read ca_file: open ")
	_, err = newTransport(Config{CertFile: empty, KeyFile: empty})
	assert.ErrorContains(t, err, "otlp: read cert_file and key_file: ")
	_, err = New(Options{Config: Config{Endpoint: "http://collector", HeadersFile: empty + "not"}})
	assert.ErrorContains(t, err, "otlp: read headers_file: open ")
	_, err = New(Options{})
	assert.EqualError(t, err, "otlp: no endpoint is configured")
}

func TestHeaders(t *testing.T) {
	h, err := parseHeaders([]byte("# for the collector\n\nauthorization: Bearer a:b\r\nX-Scope-OrgID:north"))
	require.NoError(t, err)
	assert.Equal(t, "Bearer a:b", h.Get("Authorization"))
	assert.Equal(t, "north", h.Get("X-Scope-OrgID"))
	for text, want := range map[string]string{
		"Authorization: x\nhunter2":  "line 2 must be like Name: value",
		"a b: hunter2":               "line 1 must be like Name: value",
		"A: hunter2\x01":             "line 1 must be like Name: value",
		"Host: hunter2":              "line 1 must not set Host, the export does",
		"Content-Type: hunter2":      "line 1 must not set Content-Type, the export does",
		string(make([]byte, 20<<10)): "must be at most 16384 bytes",
	} {
		_, err := parseHeaders([]byte(text))
		require.EqualError(t, err, want)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("Authorization: Bearer x\n# y\n")
	f.Add(":\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHeaders([]byte(text))
		if err == nil {
			assert.LessOrEqual(t, len(h), maxHeaders)
		}
	})
}
