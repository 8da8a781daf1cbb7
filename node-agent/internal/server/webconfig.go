package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"
	"golang.org/x/time/rate"
)

var inBackticks = regexp.MustCompile("`[^`]*`")

// WebConfig is what a --web.config.file says, in the format of Prometheus' exporter-toolkit.
//
// The toolkit serves such a file by itself, but asks for a password for everything then; the agent leaves its liveness
// open, so that a kubelet needs none.
type WebConfig struct {
	TLS     *tls.Config // nil for plain HTTP; certificates are read again for each connection
	Users   map[string]string
	Headers map[string]string
	// ClientCerts: whoever reads must show a certificate of the configured authorities. It is asked for request by request,
	// so that liveness needs none.
	ClientCerts bool
	Limiter     *rate.Limiter // nil for no limit
}

// ReadWebConfig reads a file; "" is an empty configuration. The error names the file and what is wrong with it.
func ReadWebConfig(path string) (WebConfig, error) {
	if path == "" {
		return WebConfig{}, nil
	}
	fail := func(err error) (WebConfig, error) {
		return WebConfig{}, fmt.Errorf("read --web.config.file %s: %s", path, unquoted(err))
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
	result := WebConfig{Users: map[string]string{}, Headers: c.HTTPConfig.Header}
	if l := c.RateLimiterConfig; l.Interval != 0 {
		if l.Interval < 0 || l.Burst < 1 {
			return fail(errors.New("rate_limit: interval must be positive and burst 1 or more, or nobody could read at all"))
		}
		result.Limiter = rate.NewLimiter(rate.Every(l.Interval), l.Burst)
	}
	for name, hash := range c.Users {
		result.Users[name] = string(hash)
	}
	if c.TLSConfig.IsEnabled() {
		c.TLSConfig.SetDirectory(filepath.Dir(path))
		if result.TLS, err = web.ConfigToTLSConfig(&c.TLSConfig); err != nil {
			return fail(err)
		}
		if result.TLS.ClientAuth == tls.RequireAndVerifyClientCert {
			result.ClientCerts = true
			result.TLS.ClientAuth = tls.VerifyClientCertIfGiven
			if check := result.TLS.VerifyPeerCertificate; check != nil {
				result.TLS.VerifyPeerCertificate = func(raw [][]byte, chains [][]*x509.Certificate) error {
					if len(raw) == 0 { // then nothing but liveness is answered
						return nil
					}
					return check(raw, chains)
				}
			}
		}
	}
	return result, nil
}

// unquoted is an error of the file's parser without what it quotes: a password that is written in the wrong place.
func unquoted(err error) string { return inBackticks.ReplaceAllString(err.Error(), "`…`") }
