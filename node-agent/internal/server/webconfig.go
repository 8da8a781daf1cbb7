package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"
)

// WebConfig is what a --web.config.file says, in the format of Prometheus' exporter-toolkit.
//
// The toolkit serves such a file by itself, but asks for a password for everything then; the agent leaves its liveness
// open, so that a kubelet needs none.
type WebConfig struct {
	TLS     *tls.Config // nil for plain HTTP; certificates are read again for each connection
	Users   map[string]string
	Headers map[string]string
}

// ReadWebConfig reads a file; "" is an empty configuration. The error names the file and what is wrong with it.
func ReadWebConfig(path string) (WebConfig, error) {
	if path == "" {
		return WebConfig{}, nil
	}
	fail := func(err error) (WebConfig, error) {
		return WebConfig{}, fmt.Errorf("read --web.config.file %s: %w", path, err)
	}
	if err := web.Validate(path); err != nil {
		return fail(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fail(err)
	}
	c := web.Config{TLSConfig: web.TLSConfig{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13}}
	if err := yaml.UnmarshalStrict(content, &c); err != nil {
		return fail(err)
	}
	if c.RateLimiterConfig.Interval != 0 {
		return fail(errors.New("rate_limit is not supported: the agent limits its readers with --web.max-subscribers"))
	}
	result := WebConfig{Users: map[string]string{}, Headers: c.HTTPConfig.Header}
	for name, hash := range c.Users {
		result.Users[name] = string(hash)
	}
	if c.TLSConfig.IsEnabled() {
		c.TLSConfig.SetDirectory(filepath.Dir(path))
		if result.TLS, err = web.ConfigToTLSConfig(&c.TLSConfig); err != nil {
			return fail(err)
		}
	}
	return result, nil
}
