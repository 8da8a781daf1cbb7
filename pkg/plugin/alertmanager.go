package plugin

import (
	"context"
	"fmt"
	"sync"

	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"
	"github.com/grafana/grafana-plugin-sdk-go/backend/proxy"

	"github.com/warpwatch/warpwatch/pkg/alerts"
)

// openAlertmanagers makes a client for each Alertmanager of the settings. Headers, credentials and certificates that are set for
// the data source as a whole are meant for Prometheus, and are not sent to them.
func (d *Datasource) openAlertmanagers(base httpclient.Options, socks *proxy.Options) error {
	base.BasicAuth, base.Header, base.SigV4 = nil, nil, nil
	if base.TLS != nil {
		base.TLS = &httpclient.TLSOptions{MinVersion: base.TLS.MinVersion, MaxVersion: base.TLS.MaxVersion}
	}
	for _, a := range d.settings.Alertmanagers {
		client, err := endpointClient(base, a.Endpoint, socks)
		if err != nil {
			return fmt.Errorf("alertmanagers: %w", err)
		}
		d.close = append(d.close, client.CloseIdleConnections)
		d.managers = append(d.managers, alerts.Manager{ID: a.ID, Cluster: a.Cluster, URL: a.URL, HTTP: client, Timeout: a.Timeout})
	}
	return nil
}

// alertmanagerLines is a line for each Alertmanager: whether it answers, and what it knows.
func (d *Datasource) alertmanagerLines(ctx context.Context) []string {
	lines := make([]string, len(d.managers))
	var wg sync.WaitGroup
	for i, m := range d.managers {
		wg.Go(func() {
			said := alerts.Ask(ctx, []alerts.Manager{m})
			lines[i] = fmt.Sprintf("Alertmanager %s ok: %d alerts, %d silences", m.ID, len(said.Alerts), len(said.Silences))
			if len(said.Failed) > 0 {
				lines[i] = "Alertmanager " + said.Failed[0].Error() + "."
			}
		})
	}
	wg.Wait()
	return lines
}
