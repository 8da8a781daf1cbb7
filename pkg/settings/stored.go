package settings

import "encoding/json"

// stored is jsonData as Grafana keeps it. What may be absent, where that is not the same as zero, is a pointer.
type stored struct {
	Clusters []struct {
		Name      string           `json:"name"`
		Endpoints []storedEndpoint `json:"endpoints"`
	} `json:"clusters"`
	ScrapeInterval string          `json:"scrapeInterval"`
	Agents         storedAgents    `json:"agents"`
	NoticeLevel    string          `json:"noticeLevel"`
	FailedEndpoint string          `json:"failedEndpoint"`
	MaxSeries      *int            `json:"maxSeries"`
	Compression    string          `json:"compression"`
	Cache          storedCache     `json:"cache"`
	Live           storedLive      `json:"live"`
	Dialects       json.RawMessage `json:"dialects"`
	Insight        storedInsight   `json:"insight"`

	Alertmanagers []storedAlertmanager `json:"alertmanagers"`

	// Grafana's own, read here because ours depend on it. Its type is Grafana's to check.
	OAuthPassThru json.RawMessage `json:"oauthPassThru"`
}

type storedTLS struct {
	TLSSkipVerify bool   `json:"tlsSkipVerify"`
	ServerName    string `json:"serverName"`
}

type storedEndpoint struct {
	storedTLS

	ID               string   `json:"id"`
	URL              string   `json:"url"`
	Role             string   `json:"role"`
	Auth             string   `json:"auth"`
	User             string   `json:"user"`
	OAuthPassThru    *bool    `json:"oauthPassThru"`
	Headers          []string `json:"headers"`
	SecureSocksProxy *bool    `json:"secureSocksProxy"`
	Timeout          string   `json:"timeout"`
	Concurrency      *int     `json:"concurrency"`
	ReplicaLabel     string   `json:"replicaLabel"` // one of ReplicaLabels, from before there could be several
	ReplicaLabels    []string `json:"replicaLabels"`
	Compression      string   `json:"compression"`
}

type storedAgents struct {
	storedAccess

	Discovery string `json:"discovery"`
	Static    []struct {
		Cluster string `json:"cluster"`
		Address string `json:"address"`
	} `json:"static"`
	DNS []struct {
		Cluster  string `json:"cluster"`
		Name     string `json:"name"`
		Interval string `json:"interval"`
	} `json:"dns"`
	Files []struct {
		Name    string          `json:"name"`
		Cluster string          `json:"cluster"`
		Content json.RawMessage `json:"content"`
	} `json:"files"`
	Allow    []string `json:"allow"`
	MaxBytes int64    `json:"maxBytes"`
	Groups   []struct {
		storedAccess

		ID    string   `json:"id"`
		Hosts []string `json:"hosts"`
	} `json:"groups"`
}

// storedAccess is how agents are spoken to.
type storedAccess struct {
	storedTLS

	Scheme           string   `json:"scheme"`
	Auth             string   `json:"auth"`
	User             string   `json:"user"`
	Headers          []string `json:"headers"`
	SecureSocksProxy *bool    `json:"secureSocksProxy"`
}

type storedCache struct {
	MaxBytes  *int64 `json:"maxBytes"`
	Freshness string `json:"freshness"`
	Remote    *struct {
		Type      string   `json:"type"`
		Addresses []string `json:"addresses"`
		User      string   `json:"user"`
		Database  int      `json:"database"`
		TLS       bool     `json:"tls"`
		Timeout   string   `json:"timeout"`
	} `json:"remote"`
}
