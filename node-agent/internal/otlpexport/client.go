package otlpexport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	maxHeadersFile = 16 << 10
	maxHeaders     = 32
	maxAnswer      = 64 << 10
)

// newTransport is the connection to the collector. It takes nothing from the environment but the proxy.
func newTransport(c Config) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: c.timeout(), KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        1,
		IdleConnTimeout:     2 * c.interval(),
		TLSHandshakeTimeout: c.timeout(),
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.InsecureSkipVerify},
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("otlp: read ca_file: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("otlp: ca_file: %s holds no certificate in PEM form", c.CAFile)
		}
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("otlp: read cert_file and key_file: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// newClient sends what the exporter gives it, with the headers of the file. It follows no redirect: the headers are for the
// configured collector alone.
func newClient(c Config, t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     headers{file: c.HeadersFile, next: t},
		Timeout:       c.timeout(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// headers adds the lines of a file to each request.
type headers struct {
	file string // "" for none
	next http.RoundTripper
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.file == "" {
		return h.next.RoundTrip(r)
	}
	add, err := readHeaders(h.file)
	if err != nil {
		if r.Body != nil {
			err = errors.Join(err, r.Body.Close())
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	for name, values := range add {
		r.Header[name] = values
	}
	return h.next.RoundTrip(r)
}

// shortestSecret is as short as a word of a header may be to be hidden: shorter ones would be found in any text.
const shortestSecret = 4

// hide takes out of a text what the headers' file holds, for answers that repeat what they were asked.
func (h headers) hide(text string) string {
	if h.file == "" {
		return text
	}
	sent, err := readHeaders(h.file)
	if err != nil {
		return text // nothing was sent
	}
	for _, values := range sent {
		for _, value := range values {
			for _, secret := range append([]string{value}, strings.Fields(value)...) {
				if len(secret) >= shortestSecret && !strings.EqualFold(secret, "Bearer") && !strings.EqualFold(secret, "Basic") {
					text = strings.ReplaceAll(text, secret, "<hidden>")
				}
			}
		}
	}
	return text
}

func readHeaders(path string) (http.Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("otlp: read headers_file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHeadersFile+1))
	if err != nil {
		return nil, fmt.Errorf("otlp: read headers_file: %w", err)
	}
	h, err := parseHeaders(text)
	if err != nil {
		return nil, fmt.Errorf("otlp: headers_file: %s: %w", path, err)
	}
	return h, nil
}

// parseHeaders reads a "Name: value" on each line; empty lines and those that begin with # are skipped. Its errors name the
// line and never what is on it.
func parseHeaders(text []byte) (http.Header, error) {
	if len(text) > maxHeadersFile {
		return nil, fmt.Errorf("must be at most %d bytes", maxHeadersFile)
	}
	h := http.Header{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		l := strings.TrimSpace(string(line))
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		name, value, ok := strings.Cut(l, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("line %d must be like Name: value", n)
		}
		switch name = http.CanonicalHeaderKey(name); name {
		case "Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Host", "Connection":
			return nil, fmt.Errorf("line %d must not set %s, the export does", n, name)
		}
		if h.Add(name, value); len(h) > maxHeaders {
			return nil, fmt.Errorf("must hold at most %d headers", maxHeaders)
		}
	}
	return h, nil
}
