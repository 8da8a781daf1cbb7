package plugin

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"
	"github.com/grafana/grafana-plugin-sdk-go/backend/proxy"
	xproxy "golang.org/x/net/proxy"

	"github.com/warpwatch/warpwatch/pkg/settings"
)

const timeoutSlack = 5 * time.Second

// endpointClient is a client for one Prometheus. It starts from what the SDK makes of the data source's own settings
// (custom headers, proxy, tracing, limits), and forwards the identity of the user who asks when the data source is set
// to. What the endpoint says about authentication and TLS comes first. socks is the way through Grafana's secure SOCKS
// proxy for endpoints that want it though the data source does not.
func endpointClient(base httpclient.Options, e settings.Endpoint, socks *proxy.Options) (*http.Client, error) {
	opts := base
	opts.ForwardHTTPHeaders = false
	if e.Forward != settings.ForwardNever {
		opts.ConfigureMiddleware = func(_ httpclient.Options, usual []httpclient.Middleware) []httpclient.Middleware {
			return append(slices.Clip(usual), forwardTenant())
		}
	}
	opts.Header = base.Header.Clone()
	if opts.Header == nil {
		opts.Header = http.Header{}
	}
	for _, h := range e.Headers {
		opts.Header.Set(h.Name, h.Value.Reveal())
	}
	timeouts := httpclient.DefaultTimeoutOptions
	if base.Timeouts != nil {
		timeouts = *base.Timeouts
	}
	// Requests end by the endpoint's own limit, with a better message. This one is for what forgets to.
	timeouts.Timeout = e.Timeout + timeoutSlack
	opts.Timeouts = &timeouts
	switch e.Auth.Method {
	case settings.BasicAuth:
		opts.BasicAuth = &httpclient.BasicAuthOptions{User: e.Auth.User, Password: e.Auth.Secret.Reveal()}
		opts.Header.Del("Authorization")
	case settings.BearerAuth:
		opts.Header.Set("Authorization", "Bearer "+e.Auth.Secret.Reveal())
		opts.BasicAuth = nil
	}
	if e.Forward == settings.ForwardAlways {
		// The data source's own credentials must not stand in for the user's.
		opts.BasicAuth = nil
		opts.Header.Del("Authorization")
	}
	opts.TLS = endpointTLS(base.TLS, e.TLS)
	switch e.SecureSocks {
	case settings.Off:
		opts.ProxyOptions = nil
	case settings.On:
		if opts.ProxyOptions = socks; !proxy.New(socks).SecureSocksProxyEnabled() {
			return nil, fmt.Errorf("endpoint %s: secureSocksProxy is on, but this Grafana has no secure SOCKS proxy: let its administrator set up "+
				"[secure_socks_datasource_proxy], or turn it off", e.ID)
		}
	}
	client, err := httpclient.New(opts)
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: set up its client: %w", e.ID, err)
	}
	return client, nil
}

// endpointTLS is what the data source as a whole is set to, where the endpoint says nothing else. One that says how it is to
// be verified is not left unverified because the data source is.
func endpointTLS(base *httpclient.TLSOptions, t settings.TLS) *httpclient.TLSOptions {
	if t == (settings.TLS{}) {
		return base
	}
	over := httpclient.TLSOptions{}
	if base != nil {
		over = *base
	}
	if t.CACert != "" || t.ServerName != "" || t.SkipVerify {
		over.InsecureSkipVerify = t.SkipVerify
	}
	over.CACertificate = cmp.Or(t.CACert, over.CACertificate)
	over.ServerName = cmp.Or(t.ServerName, over.ServerName)
	if t.ClientCert != "" {
		over.ClientCertificate, over.ClientKey = t.ClientCert, t.ClientKey.Reveal()
	}
	return &over
}

// secureSocks is how connections go through Grafana's secure SOCKS proxy, whether or not the data source as a whole does.
func secureSocks(ctx context.Context, stored backend.DataSourceInstanceSettings) (*proxy.Options, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(stored.JSONData, &all); err != nil {
		return nil, fmt.Errorf("read the data source's settings of the secure SOCKS proxy: %w", err)
	}
	all["enableSecureSocksProxy"] = json.RawMessage("true")
	changed, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("set up the secure SOCKS proxy: %w", err)
	}
	stored.JSONData = changed
	opts, err := stored.HTTPClientOptions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the data source's settings of the secure SOCKS proxy: %w", err)
	}
	return opts.ProxyOptions, nil
}

// agentTLS is how agents are verified.
func agentTLS(base httpclient.Options, t settings.TLS) (*tls.Config, error) {
	over := httpclient.TLSOptions{
		CACertificate: t.CACert, ServerName: t.ServerName, InsecureSkipVerify: t.SkipVerify, MinVersion: tls.VersionTLS12,
		ClientCertificate: t.ClientCert, ClientKey: t.ClientKey.Reveal(),
	}
	if base.TLS != nil {
		over.MinVersion = max(over.MinVersion, base.TLS.MinVersion)
		over.MaxVersion = base.TLS.MaxVersion
	}
	config, err := httpclient.GetTLSConfig(httpclient.Options{TLS: &over})
	if err != nil {
		return nil, fmt.Errorf("set up TLS: %w", err)
	}
	return config, nil
}

// agentDialer goes through Grafana's secure SOCKS proxy when the data source is set to, and is nil otherwise.
func agentDialer(base httpclient.Options) (xproxy.ContextDialer, error) {
	client := proxy.New(base.ProxyOptions)
	if !client.SecureSocksProxyEnabled() {
		return nil, nil
	}
	dialer, err := client.NewSecureSocksProxyContextDialer()
	if err != nil {
		return nil, fmt.Errorf("set up the secure SOCKS proxy: %w", err)
	}
	contextDialer, ok := dialer.(xproxy.ContextDialer)
	if !ok {
		return nil, errors.New("set up the secure SOCKS proxy: its dialer cannot be cancelled")
	}
	return contextDialer, nil
}
