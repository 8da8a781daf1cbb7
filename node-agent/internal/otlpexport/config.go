// Package otlpexport sends the agent's newest readings to an OpenTelemetry collector, over OTLP/HTTP, under the names of
// OpenTelemetry's conventions for hardware (hw.gpu.*, hw.power, hw.errors, …). It is off unless an endpoint is configured,
// and then costs nothing: nothing of it runs.
package otlpexport

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Config is the "otlp" part of the agent's file.
type Config struct {
	// Endpoint is the whole URL, "https://collector:4318/v1/metrics"; "" switches the export off.
	Endpoint string        `yaml:"endpoint"`
	Interval time.Duration `yaml:"interval"` // 0 is 60s
	Timeout  time.Duration `yaml:"timeout"`  // of one export with its retries, 0 is 10s
	// HeadersFile holds a "Name: value" on each line, for authentication. It is read for every export, so it may change.
	HeadersFile string `yaml:"headers_file"`
	CAFile      string `yaml:"ca_file"`
	CertFile    string `yaml:"cert_file"` // the agent's own certificate
	KeyFile     string `yaml:"key_file"`
	// InsecureSkipVerify trusts whoever answers.
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"`
	Compression        string `yaml:"compression"` // "gzip" or "none", "" is gzip
}

const (
	defaultInterval = time.Minute
	minInterval     = time.Second
	maxInterval     = time.Hour
	defaultTimeout  = 10 * time.Second
	defaultPath     = "/v1/metrics"
)

// Enabled reports whether anything is exported.
func (c Config) Enabled() bool { return c.Endpoint != "" }

// Validate says what must be changed, nil when nothing must. Files are read only when the export starts.
func (c Config) Validate() error {
	if !c.Enabled() {
		if c != (Config{}) {
			return errors.New("otlp: endpoint must be given, or the whole section left out")
		}
		return nil
	}
	_, err := c.url()
	errs := []error{err}
	if c.Interval != 0 && (c.Interval < minInterval || c.Interval > maxInterval) {
		errs = append(errs, fmt.Errorf("otlp: interval: %s must be %s to %s", c.Interval, minInterval, maxInterval))
	}
	if c.Timeout < 0 || c.Timeout > c.interval() {
		errs = append(errs, fmt.Errorf("otlp: timeout: %s must be more than 0s and at most the interval, %s", c.Timeout, c.interval()))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, errors.New("otlp: cert_file and key_file must be given together"))
	}
	if c.Compression != "" && c.Compression != "gzip" && c.Compression != "none" {
		errs = append(errs, fmt.Errorf(`otlp: compression: %q must be "gzip" or "none"`, c.Compression))
	}
	if strings.HasPrefix(c.Endpoint, "http://") && (c.CAFile != "" || c.CertFile != "" || c.InsecureSkipVerify) {
		errs = append(errs, errors.New("otlp: ca_file, cert_file and insecure_skip_verify need an endpoint that starts with https://"))
	}
	return errors.Join(errs...)
}

// url is the endpoint, with the usual path when it has none.
func (c Config) url() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("otlp: endpoint must be a URL like https://collector:4318/v1/metrics")
	}
	if u.User != nil {
		return nil, errors.New("otlp: endpoint must not hold a user or password: put an Authorization line into headers_file")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("otlp: endpoint must end with its path")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = defaultPath
	}
	return u, nil
}

func (c Config) interval() time.Duration {
	if c.Interval == 0 {
		return defaultInterval
	}
	return c.Interval
}

func (c Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return min(defaultTimeout, c.interval())
	}
	return c.Timeout
}
