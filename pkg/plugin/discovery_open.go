package plugin

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"
	"github.com/grafana/grafana-plugin-sdk-go/backend/proxy"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// openAgents makes the live side: who finds agents, and how each is reached. socks is the way through Grafana's secure
// SOCKS proxy, nil where no setting asks for it. The error is the user's to mend.
func (d *Datasource) openAgents(ctx context.Context, base httpclient.Options, socks *proxy.Options, lister agentLister, resolver *net.Resolver) error {
	agents := d.settings.Agents
	allow, err := live.ParseAllowList(agents.Allow)
	if err != nil {
		return fmt.Errorf("agents.allow: %w", err)
	}
	others, err := agentGroup("agents", base, socks, agents.Access)
	if err != nil {
		return err
	}
	config := live.Config{
		Allow: allow, Header: others.Header, TLS: others.TLS, Encrypted: others.Encrypted, DialContext: others.DialContext,
		TotalRingBytes: int(agents.MaxBytes),
		Logger:         slogger(d.logger), Reader: "warpwatch-plugin/" + backend.PluginConfigFromContext(ctx).PluginVersion,
	}
	for i, g := range agents.Groups {
		key := fmt.Sprintf("agents.groups[%d]", i)
		if g.SecureSocks == settings.AsDataSource {
			g.SecureSocks = agents.SecureSocks
		}
		group, err := agentGroup(key, base, socks, g.Access)
		if err != nil {
			return err
		}
		if group.Hosts, err = live.ParseAllowList(g.Hosts); err != nil {
			return fmt.Errorf("%s.hosts: %w", key, err)
		}
		config.Groups = append(config.Groups, group)
	}
	finder := live.NewFinder(sources(agents, lister, resolver))
	d.close = append(d.close, finder.Close)
	d.finder = finder
	config.TargetsChanged, config.TargetsEvery = finder.Changed(), finder.Pace()
	config.Targets = func(ctx context.Context) ([]live.Target, []gpu.Notice, error) {
		targets, notices, err := finder.Targets(ctx)
		return schemes(agents, config.Groups, targets), notices, err
	}
	d.live = live.NewHub(config)
	return nil
}

// agentGroup is how the agents of a group are reached. key is where its settings are.
func agentGroup(key string, base httpclient.Options, socks *proxy.Options, a settings.Access) (live.Group, error) {
	tls, err := agentTLS(base, a.TLS)
	if err != nil {
		return live.Group{}, fmt.Errorf("%s: %w", key, err)
	}
	group := live.Group{Header: agentHeader(a), TLS: tls, Encrypted: a.Scheme == "https" && a.HasCredentials()}
	switch a.SecureSocks {
	case settings.Off:
		return group, nil
	case settings.On:
		base.ProxyOptions = socks
	case settings.AsDataSource:
	}
	dialer, err := agentDialer(base)
	switch {
	case err != nil:
		return live.Group{}, fmt.Errorf("%s: %w", key, err)
	case dialer != nil:
		group.DialContext = dialer.DialContext
	case a.SecureSocks == settings.On:
		return live.Group{}, fmt.Errorf("%s.secureSocksProxy: is on, but this Grafana has no secure SOCKS proxy: let its administrator set up "+
			"[secure_socks_datasource_proxy], or turn it off", key)
	}
	return group, nil
}

// agentHeader is what agents are sent along with the stream's handshake: their own credentials and nothing of Grafana's.
func agentHeader(a settings.Access) http.Header {
	header := http.Header{}
	for _, h := range a.Headers {
		header.Set(h.Name, h.Value.Reveal())
	}
	switch a.Auth.Method {
	case settings.BasicAuth:
		req := http.Request{Header: header}
		req.SetBasicAuth(a.Auth.User, a.Auth.Secret.Reveal())
	case settings.BearerAuth:
		header.Set("Authorization", "Bearer "+a.Auth.Secret.Reveal())
	case settings.NoAuth:
	}
	return header
}
