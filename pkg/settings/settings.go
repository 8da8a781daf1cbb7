// Package settings turns a data source's stored settings into one typed value: defaults filled in, every problem
// named by its key together with what to change. It does no I/O.
package settings

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Defaults of what may be left out.
const (
	DefaultScrapeInterval = 15 * time.Second
	DefaultTimeout        = 30 * time.Second
	DefaultAgentPort      = "9847"
)

// Settings is what a data source is told to read.
type Settings struct {
	Clusters       []Cluster
	ScrapeInterval time.Duration // of the exporters, by Prometheus; the finest step worth asking for
	Agents         Agents
	NoticeLevel    gpu.Severity // notices below it are not shown
	Unknown        []string     // keys that mean nothing here, each with its path: typing errors, mostly
}

// Cluster is one GPU cluster and the servers that know it.
type Cluster struct {
	Name      string
	Endpoints []Endpoint // replicas of each other, or shards
}

// Endpoint is one Prometheus-compatible server.
type Endpoint struct {
	ID           string // names it in messages and in the keys of its secrets
	URL          string // without the trailing slash and without /api/v1
	Auth         Auth
	TLS          TLS
	Timeout      time.Duration
	ReplicaLabel string // the label that tells replicas apart, dropped before series are compared; "" for none
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

// TLS is how the other side is verified.
type TLS struct {
	SkipVerify bool
	ServerName string // "" for the host of the URL
	CACert     string // PEM; "" for the system's authorities
}

// Discovery is how agents are found.
type Discovery string

// Ways to find agents.
const (
	DiscoverPrometheus Discovery = "prometheus" // from the series warpwatch_agent_info
	DiscoverStatic     Discovery = "static"     // from the list in the settings
	DiscoverOff        Discovery = "off"        // no live data
)

// Agents is how the live side is reached.
type Agents struct {
	Discovery Discovery
	Static    []StaticAgent
	Allow     []string // host patterns, addresses and networks that may be dialled; empty: none
	Scheme    string   // "http" or "https", where discovery does not say
	Auth      Auth
	TLS       TLS
}

// StaticAgent is an agent written into the settings.
type StaticAgent struct {
	Cluster string
	Address string // host:port
}

// EndpointCount is the number of servers over all clusters.
func (s Settings) EndpointCount() int {
	n := 0
	for _, c := range s.Clusters {
		n += len(c.Endpoints)
	}
	return n
}
