package settings

import (
	"cmp"
	"fmt"
	"strings"
)

// agentSecrets is what the keys of the agents' secrets start with.
const agentSecrets = "agents_"

// secretsOfGroup is what the keys of a group's secrets start with.
func secretsOfGroup(id string) string { return "agentgroup_" + id + "_" }

// read fills in the defaults of how agents are found and reached.
func (in storedAgents) read(secure map[string]string, problems *[]error) Agents {
	a := Agents{Discovery: Discovery(in.Discovery), Allow: trimmed(in.Allow), Access: in.access(agentSecrets, secure), MaxBytes: in.MaxBytes}
	a.Scheme = cmp.Or(a.Scheme, "http")
	for _, s := range in.Static {
		a.Static = append(a.Static, StaticAgent{Cluster: strings.TrimSpace(s.Cluster), Address: withPort(strings.TrimSpace(s.Address))})
	}
	for i, d := range in.DNS {
		a.DNS = append(a.DNS, DNSName{
			Cluster: strings.TrimSpace(d.Cluster), Name: dnsName(strings.TrimSpace(d.Name)),
			Every: duration(fmt.Sprintf("agents.dns[%d].interval", i), d.Interval, DefaultLookup, problems),
		})
	}
	for i, f := range in.Files {
		key := fmt.Sprintf("agents.files[%d].content", i)
		file := AgentFile{Name: cmp.Or(strings.TrimSpace(f.Name), fmt.Sprintf("file %d", i+1))}
		file.Agents = readFile(key, f.Content, strings.TrimSpace(f.Cluster), problems)
		a.Files = append(a.Files, file)
	}
	for _, g := range in.Groups {
		a.Groups = append(a.Groups, AgentGroup{ID: g.ID, Hosts: trimmed(g.Hosts), Access: g.access(secretsOfGroup(g.ID), secure)})
	}
	if a.Discovery == "" {
		a.Discovery = DiscoverPrometheus
		if len(a.Static)+len(a.DNS)+len(a.Files) > 0 {
			a.Discovery = DiscoverStatic
		}
	}
	return a
}

func (in storedAccess) access(prefix string, secure map[string]string) Access {
	return Access{
		Scheme: in.Scheme, Auth: auth(in.Auth, in.User, prefix, secure), Headers: headers(in.Headers, prefix, secure),
		TLS: in.tls(prefix, secure), SecureSocks: switched(in.SecureSocksProxy),
	}
}

// dnsName completes a name: without a prefix it is that of SRV records, and agents of a host are at their own port.
func dnsName(name string) string {
	kind, rest, ok := strings.Cut(name, "+")
	if !ok {
		if name == "" {
			return ""
		}
		return "dnssrvnoa+" + name
	}
	if kind == "dns" {
		return kind + "+" + withPort(rest)
	}
	return name
}

func trimmed(list []string) []string {
	var kept []string
	for _, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
