package settings

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Limits of lists about agents.
const (
	maxDNSNames    = 50
	maxAgentFiles  = 50
	maxAgentGroups = 100
	maxStatic      = 25_000

	minAgentBytes = 16 << 20
	maxAgentBytes = 64 << 30
)

func (v *validator) agents(a Agents, havePrometheus bool) {
	switch a.Discovery {
	case DiscoverOff:
		if !havePrometheus {
			v.add("clusters", "is empty and agents.discovery is off, so there is nothing to read: add a cluster or an agent")
		}
	case DiscoverPrometheus:
		if !havePrometheus {
			v.add("clusters", "is empty: add a Prometheus URL, or set agents.discovery to static and list the agents")
		}
	case DiscoverStatic:
		if len(a.Static)+len(a.DNS)+len(a.Files) == 0 {
			v.add("agents.static", "is empty: list agents as host:port, or set agents.discovery to prometheus")
		}
	default:
		v.add("agents.discovery", "%q is not a way to find agents: write prometheus, static or off", string(a.Discovery))
	}
	if a.MaxBytes != 0 && (a.MaxBytes < minAgentBytes || a.MaxBytes > maxAgentBytes) {
		v.add("agents.maxBytes", "%d is out of range: write a number of bytes between %d (16 MiB) and %d (64 GiB)",
			a.MaxBytes, int64(minAgentBytes), int64(maxAgentBytes))
	}
	v.atMost("agents.static", len(a.Static), maxStatic)
	for i, agent := range a.Static {
		v.address(fmt.Sprintf("agents.static[%d].address", i), agent.Address)
	}
	v.atMost("agents.dns", len(a.DNS), maxDNSNames)
	for i, d := range a.DNS {
		v.dns(fmt.Sprintf("agents.dns[%d]", i), d)
	}
	v.atMost("agents.files", len(a.Files), maxAgentFiles)
	names := map[string]int{}
	for i, f := range a.Files {
		if first, taken := names[f.Name]; taken {
			v.add(fmt.Sprintf("agents.files[%d].name", i), "%q is also the name of agents.files[%d]: rename one", f.Name, first)
			continue
		}
		names[f.Name] = i
	}
	for i, pattern := range a.Allow {
		v.allow(fmt.Sprintf("agents.allow[%d]", i), pattern)
	}
	if a.Scheme != "http" && a.Scheme != "https" {
		v.add("agents.scheme", "%q is not a scheme: write http or https", a.Scheme)
	}
	v.access("agents", agentSecrets, a.Access)
	v.groups(a.Groups)
}

func (v *validator) groups(groups []AgentGroup) {
	v.atMost("agents.groups", len(groups), maxAgentGroups)
	ids := map[string]string{}
	for i, g := range groups {
		key := fmt.Sprintf("agents.groups[%d]", i)
		v.groupID(key+".id", g.ID, ids)
		if len(g.Hosts) == 0 {
			v.add(key+".hosts", "is empty: list the hosts, *.domain or networks that the group's settings are for")
		}
		for j, host := range g.Hosts {
			v.hosts(fmt.Sprintf("%s.hosts[%d]", key, j), host, "without a port")
		}
		if g.Scheme != "" && g.Scheme != "http" && g.Scheme != "https" {
			v.add(key+".scheme", "%q is not a scheme: write http or https", g.Scheme)
		}
		v.access(key, secretsOfGroup(g.ID), g.Access)
	}
}

func (v *validator) groupID(key, id string, seen map[string]string) {
	if id == "" {
		v.add(key, "is empty: give the group a short id, such as dmz")
		return
	}
	if len(id) > maxIDLength || strings.IndexFunc(id, notPlain) >= 0 {
		v.add(key, "%q is not an id: use up to %d letters, digits, - and _", id, maxIDLength)
	}
	if first, taken := seen[id]; taken {
		v.add(key, "%q is taken by %s: each group has its own", id, first)
		return
	}
	seen[id] = strings.TrimSuffix(key, ".id")
}

// access is about credentials and TLS; key is where their settings are, prefix begins their secrets.
func (v *validator) access(key, prefix string, a Access) {
	v.auth(key, prefix, a.Auth)
	v.headers(key+".headers", prefix+headerSecret, a.Headers, a.Auth.Method, ForwardNever)
	for _, h := range a.Headers {
		if strings.HasPrefix(strings.ToLower(h.Name), "sec-websocket-") {
			v.add(key+".headers", "%s belongs to the connection: remove it", h.Name)
		}
	}
	v.tls(prefix, a.TLS)
}

func (v *validator) dns(key string, d DNSName) {
	if d.Every < 5*time.Second || d.Every > time.Hour {
		v.add(key+".interval", "%s is out of range: write how often to look it up, between 5s and 1h", d.Every)
	}
	kind, name, _ := strings.Cut(d.Name, "+")
	host := name
	switch kind {
	case "dns":
		v.address(key+".name", name)
		return
	case "dnssrv", "dnssrvnoa":
		if at, port, err := net.SplitHostPort(name); err == nil {
			host = at
			v.address(key+".name", net.JoinHostPort(at, port))
		}
	case "":
		v.add(key+".name", "is empty: write something like dnssrv+_warpwatch._tcp.example.com")
		return
	default:
		v.add(key+".name", "%q does not begin with a way to look it up: write dns+host:port, dnssrv+name or dnssrvnoa+name", withoutUser(d.Name))
		return
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || strings.ContainsFunc(label, notPlain) {
			v.add(key+".name", "%q is not a name in DNS: write something like dnssrv+_warpwatch._tcp.example.com", withoutUser(d.Name))
			break
		}
	}
}

func (v *validator) atMost(key string, have, most int) {
	if have > most {
		v.add(key, "lists %d entries: a data source reads at most %d", have, most)
	}
}
