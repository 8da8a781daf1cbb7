// Package settings turns a data source's stored settings into one typed value: defaults filled in, every problem
// named by its key together with what to change. It does no I/O.
package settings

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Defaults of what may be left out.
const (
	DefaultScrapeInterval = 15 * time.Second
	DefaultTimeout        = 30 * time.Second
	DefaultConcurrency    = 20
	DefaultMaxSeries      = 1000
	DefaultCacheBytes     = 256 << 20
	DefaultCacheTimeout   = 500 * time.Millisecond
	DefaultAgentPort      = "9847"
	DefaultLookup         = 30 * time.Second // between two questions to DNS
)

// Settings is what a data source is told to read.
type Settings struct {
	Clusters       []Cluster
	ScrapeInterval time.Duration // of the exporters, by Prometheus; the finest step worth asking for
	Agents         Agents
	NoticeLevel    gpu.Severity // notices below it are not shown
	FailedEndpoint gpu.Severity // of the notice that a server failed while others answered
	MaxSeries      int          // of a panel; more become bands or the first and last of them
	Cache          Cache
	Live           Live
	Dialects       json.RawMessage // the user's own exporters for the catalogue, as written; nil for none
	Insight        Insight
	Alertmanagers  []Alertmanager
	Unknown        []string // keys that mean nothing here, each with its path: typing errors, mostly
}

// Cluster is one GPU cluster and the servers that know it.
type Cluster struct {
	Name      string
	Endpoints []Endpoint // replicas of each other, or shards
}

// Endpoint is one Prometheus-compatible server.
type Endpoint struct {
	ID            string // names it in messages and in the keys of its secrets
	URL           string // without the trailing slash and without /api/v1
	Role          Role
	Auth          Auth
	Forward       Forwarding
	Headers       []Header // sent with every request, after what the data source itself adds
	TLS           TLS
	SecureSocks   Switch // through Grafana's secure SOCKS proxy
	Timeout       time.Duration
	Concurrency   int      // requests at the same time
	ReplicaLabels []string // what tells replicas apart, dropped before series are compared
	Compression   Compression
}

// Role is what an endpoint is to the others of its cluster.
type Role string

// Roles of an endpoint.
const (
	AnyRole Role = ""        // not said: it is asked, and what it says is merged
	Replica Role = "replica" // it has what the other replicas of the cluster have, so one of them is asked
	Shard   Role = "shard"   // it has a part of the cluster, so it is always asked
)

// Forwarding is whether the identity of the user who asks is sent along.
type Forwarding uint8

// Ways to forward an identity.
const (
	ForwardGiven  Forwarding = iota // when Grafana hands it over and the endpoint has no credentials of its own
	ForwardAlways                   // and nothing is asked without one
	ForwardNever
)

// Header is a header of the user's choice.
type Header struct {
	Name  string
	Value Secret
}

// Switch is on, off, or what the data source as a whole is set to.
type Switch uint8

// Positions of a switch.
const (
	AsDataSource Switch = iota
	On
	Off
)

// Compression is whether answers may come compressed. It saves bytes and costs more time than decoding them.
type Compression string

// Ways to decide about compression.
const (
	CompressAuto Compression = "auto" // unless the server is on loopback or a private network
	CompressOn   Compression = "on"
	CompressOff  Compression = "off"
)

// Cache is where answers are kept.
type Cache struct {
	MaxBytes  int64         // of memory; 0 for no cache
	Freshness time.Duration // how late samples may reach the servers; 0 for what the scrape interval suggests
	Remote    RemoteCache
}

// RemoteCache is one that several Grafana servers share.
type RemoteCache struct {
	Type      string   // "memcached", "redis" or "" for none
	Addresses []string // host:port
	User      string   // redis only
	Password  Secret   // redis only
	Database  int      // redis only
	TLS       bool
	Timeout   time.Duration // of one operation
}

// Method of authentication.
type Method string

// Methods of authentication.
const (
	NoAuth     Method = "none"
	BasicAuth  Method = "basic"
	BearerAuth Method = "bearer"
)

// Auth is how to identify oneself. Secret is the password or the token.
type Auth struct {
	Method Method
	User   string
	Secret Secret
}

// TLS is how the other side is verified, and how it verifies us.
type TLS struct {
	SkipVerify bool
	ServerName string // "" for the host of the URL
	CACert     string // PEM; "" for the system's authorities
	ClientCert string // PEM; "" for none
	ClientKey  Secret // PEM
}

// Discovery is how agents are found.
type Discovery string

// Ways to find agents.
const (
	DiscoverPrometheus Discovery = "prometheus" // from the series warpwatch_agent_info, and from what the settings list
	DiscoverStatic     Discovery = "static"     // from what the settings list: agents, names in DNS, and files
	DiscoverOff        Discovery = "off"        // no live data
)

// Agents is how the live side is reached.
type Agents struct {
	Discovery Discovery
	Static    []StaticAgent
	DNS       []DNSName
	Files     []AgentFile
	Allow     []string // host patterns, addresses and networks that may be dialled; empty: none
	Access             // of agents that are in no group; its Scheme is never empty
	Groups    []AgentGroup
	MaxBytes  int64 // of samples of now that are held in memory; 0 for what the live side takes by itself
}

// Access is how agents are spoken to.
type Access struct {
	Scheme      string // "http" or "https"; "" in a group: what discovery says
	Auth        Auth
	Headers     []Header
	TLS         TLS
	SecureSocks Switch // through Grafana's secure SOCKS proxy; for a group, AsDataSource is what the other agents do
}

// HasCredentials reports whether agents are sent something that must stay a secret.
func (a Access) HasCredentials() bool {
	return a.Auth.Method == BasicAuth || a.Auth.Method == BearerAuth || len(a.Headers) > 0
}

// AgentGroup is agents that are spoken to in a way of their own. It takes nothing over from the others but the way
// through the proxy.
type AgentGroup struct {
	ID    string   // names it in messages and in the keys of its secrets
	Hosts []string // patterns, addresses and networks, as agents' addresses are written
	Access
}

// StaticAgent is an agent written into the settings.
type StaticAgent struct {
	Cluster string
	Node    string // "" where only the agent knows
	Address string // host:port
	Scheme  string // "" where that is not said
}

// DNSName is a name whose records are agents.
type DNSName struct {
	Cluster string
	Name    string        // "dns+host:port", "dnssrv+name", "dnssrvnoa+name"
	Every   time.Duration // how often it is looked up
}

// AgentFile is what stands in a file of Prometheus's file_sd_configs.
type AgentFile struct {
	Name   string // as it stands in messages
	Agents []StaticAgent
}

// EndpointCount is the number of servers over all clusters.
func (s Settings) EndpointCount() int {
	n := 0
	for _, c := range s.Clusters {
		n += len(c.Endpoints)
	}
	return n
}

// WantsSecureSocks reports whether an endpoint, an Alertmanager or an agent goes through Grafana's secure SOCKS proxy by its own setting.
func (s Settings) WantsSecureSocks() bool {
	for _, c := range s.Clusters {
		for _, e := range c.Endpoints {
			if e.SecureSocks == On {
				return true
			}
		}
	}
	if slices.ContainsFunc(s.Alertmanagers, func(a Alertmanager) bool { return a.SecureSocks == On }) {
		return true
	}
	return s.Agents.SecureSocks == On || slices.ContainsFunc(s.Agents.Groups, func(g AgentGroup) bool { return g.SecureSocks == On })
}
