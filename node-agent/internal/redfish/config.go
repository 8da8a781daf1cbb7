// Package redfish reads how a node, its chassis or its coolant distribution unit is cooled, from a Redfish service: inlet
// and coolant temperatures, flow, pressure, heat, leaks. It is off unless an endpoint is configured, and only ever reads.
//
// The client is gofish: service root, sessions, authentication. The resources are decoded here, into the few fields that
// are used: gofish's types hold readings as plain numbers, in which one that is absent cannot be told from zero.
package redfish

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
)

// Config is the "redfish" part of the agent's file.
type Config struct {
	Endpoint string        `yaml:"endpoint"` // "https://bmc.example"; "" switches the reader off
	Interval time.Duration `yaml:"interval"` // 0 is 60s
	Timeout  time.Duration `yaml:"timeout"`  // of one request, 0 is 10s
	Auth     string        `yaml:"auth"`     // "session" or "basic", "" is session

	// Credentials are in files: one of the form user:password, or one each.
	CredentialsFile string `yaml:"credentials_file"`
	UsernameFile    string `yaml:"username_file"`
	PasswordFile    string `yaml:"password_file"`

	CAFile string `yaml:"ca_file"`
	// InsecureSkipVerify trusts whoever answers, and sends the credentials to them.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify"`
}

const (
	defaultInterval = time.Minute
	minInterval     = 10 * time.Second
	maxInterval     = time.Hour
	defaultTimeout  = 10 * time.Second
	maxTimeout      = time.Minute
	maxSecret       = 4 << 10
	authSession     = "session"
	authBasic       = "basic"
)

// Enabled reports whether anything is read.
func (c Config) Enabled() bool { return c.Endpoint != "" }

// Validate says what must be changed, nil when nothing must. Files are read only when the reader starts.
func (c Config) Validate() error {
	if !c.Enabled() {
		if c != (Config{}) {
			return errors.New("redfish: endpoint must be given, or the whole section left out")
		}
		return nil
	}
	_, err := c.url()
	errs := []error{err}
	if c.Interval != 0 && (c.Interval < minInterval || c.Interval > maxInterval) {
		errs = append(errs, fmt.Errorf("redfish: interval: %s must be %s to %s", c.Interval, minInterval, maxInterval))
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("redfish: timeout: %s must be more than 0s and at most %s", c.Timeout, maxTimeout))
	}
	if c.Auth != "" && c.Auth != authSession && c.Auth != authBasic {
		errs = append(errs, fmt.Errorf(`redfish: auth: %q must be "session" or "basic"`, c.Auth))
	}
	pair := c.UsernameFile != "" && c.PasswordFile != ""
	some := c.UsernameFile != "" || c.PasswordFile != ""
	if (c.CredentialsFile != "") == pair || (some && !pair) {
		errs = append(errs, errors.New("redfish: either credentials_file, or username_file and password_file must be given"))
	}
	if c.CAFile != "" && c.InsecureSkipVerify {
		errs = append(errs, errors.New("redfish: ca_file and insecure_skip_verify exclude each other"))
	}
	return errors.Join(errs...)
}

func (c Config) url() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("redfish: endpoint must be a URL like https://bmc.example")
	}
	if u.User != nil {
		return nil, errors.New("redfish: endpoint must not hold a user or password: put them into credentials_file")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("redfish: endpoint must end with the host or its port: /redfish/v1 is added")
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
		return defaultTimeout
	}
	return c.Timeout
}

// credentials reads the files. They may change at any time: they are read for every login.
func (c Config) credentials() (user, password string, err error) {
	if c.CredentialsFile == "" {
		if user, err = secret("username_file", c.UsernameFile); err != nil {
			return "", "", err
		}
		password, err = secret("password_file", c.PasswordFile)
		return user, password, err
	}
	both, err := secret("credentials_file", c.CredentialsFile)
	if err != nil {
		return "", "", err
	}
	user, password, ok := strings.Cut(both, ":")
	if !ok || user == "" || password == "" {
		return "", "", fmt.Errorf("redfish: credentials_file: %s must hold user:password", c.CredentialsFile)
	}
	return user, password, nil
}

// secret reads one line from a file. Its errors never hold what is in it.
func secret(key, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("redfish: read %s: %w", key, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("redfish: read %s: %w", key, err)
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 || len(text) > maxSecret || bytes.ContainsAny(text, "\r\n\x00") {
		return "", fmt.Errorf("redfish: %s: %s must hold one line of at most %d bytes", key, path, maxSecret)
	}
	return string(text), nil
}

// roots are the authorities to trust, nil for the system's.
func (c Config) roots() (*x509.CertPool, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("redfish: read ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("redfish: ca_file: %s holds no certificate in PEM form", c.CAFile)
	}
	return pool, nil
}
