package settings

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const maxIDLength = 64

// Validate returns every problem, joined, or nil. Parse calls it.
func (s Settings) Validate() error {
	v := &validator{}
	if s.ScrapeInterval < time.Second || s.ScrapeInterval > time.Hour {
		v.add("scrapeInterval", "%s is out of range: write how often Prometheus scrapes the GPUs, between 1s and 1h", s.ScrapeInterval)
	}
	if s.MaxSeries < minSeries || s.MaxSeries > maxSeries {
		v.add("maxSeries", "%d is out of range: write how many series a panel may show one by one, between %d and %d", s.MaxSeries, minSeries, maxSeries)
	}
	v.clusters(s.Clusters)
	v.cache(s.Cache)
	v.live(s.Live)
	v.dialects(s.Dialects)
	v.insight(s.Insight)
	v.alertmanagers(s.Alertmanagers)
	v.agents(s.Agents, len(s.Clusters) > 0)
	return errors.Join(v.problems...)
}

type validator struct{ problems []error }

// maxQuoted is how many bytes of a text a problem quotes.
const maxQuoted = 160

func (v *validator) add(key, format string, args ...any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok && len(text) > maxQuoted {
			args[i] = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
		}
	}
	v.problems = append(v.problems, fmt.Errorf("%s: "+format, append([]any{key}, args...)...))
}

func (v *validator) clusters(clusters []Cluster) {
	names, ids := map[string]int{}, map[string]string{}
	for i, c := range clusters {
		key := fmt.Sprintf("clusters[%d]", i)
		if c.Name == "" {
			v.add(key+".name", "is empty: give the cluster a name, it becomes the label cluster")
		} else if first, taken := names[c.Name]; taken {
			v.add(key+".name", "%q is also the name of clusters[%d]: list both servers as endpoints of one cluster, or rename one", c.Name, first)
		} else {
			names[c.Name] = i
		}
		if len(c.Endpoints) == 0 {
			v.add(key+".endpoints", "is empty: add a Prometheus URL or remove the cluster %q", c.Name)
		}
		for j, e := range c.Endpoints {
			v.endpoint(fmt.Sprintf("%s.endpoints[%d]", key, j), e, ids)
		}
		v.roles(key, c)
	}
}

// id is part of the names of secrets and stands in messages, so it keeps to plain characters.
func (v *validator) id(key, id string, seen map[string]string) {
	switch {
	case id == "":
		v.add(key, "is empty: give the endpoint a short id, such as north-a")
		return
	case len(id) > maxIDLength || strings.IndexFunc(id, notPlain) >= 0:
		v.add(key, "%q is not an id: use up to %d letters, digits, - and _", id, maxIDLength)
	}
	if first, taken := seen[id]; taken {
		v.add(key, "%q is taken by %s: ids are unique over all clusters", id, first)
		return
	}
	seen[id] = strings.TrimSuffix(key, ".id")
}

func notPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

func isLabelName(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return notPlain(r) || r == '-' }) < 0 && (name[0] < '0' || name[0] > '9')
}

// cleanURL drops what is often pasted along: blanks, the slash at the end, and the API's own path.
func cleanURL(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	return strings.TrimRight(strings.TrimSuffix(text, "/api/v1"), "/")
}

// url never repeats a text that may hold a password.
func (v *validator) url(key, text string) {
	u, err := url.Parse(text)
	shown, _, _ := strings.Cut(text, "?")
	shown, _, _ = strings.Cut(shown, "#")
	switch {
	case text == "":
		v.add(key, "is empty: write the address of Prometheus, such as http://prometheus:9090")
	case strings.Contains(text, "@"):
		v.add(key, "holds a user or password: remove them from the URL and set auth to basic")
	case err != nil:
		v.add(key, "is not a URL: write something like http://prometheus:9090")
	case u.Scheme != "http" && u.Scheme != "https":
		v.add(key, "%q does not start with http:// or https://", shown)
	case u.Hostname() == "":
		v.add(key, "%q names no host: write something like http://prometheus:9090", shown)
	case !isPort(u.Port()):
		v.add(key, "%q has a port that does not exist: write 1 to 65535", shown)
	case u.RawQuery != "" || u.Fragment != "":
		v.add(key, "%q has a query or fragment: keep what stands before ? and #", shown)
	case strings.HasSuffix(u.Path, "/metrics"):
		v.add(key, "%q is an exporter's page: write the address of the Prometheus that scrapes it", shown)
	}
}

// isPort reports whether a URL's port can be connected to; a URL without one can.
func isPort(port string) bool {
	if port == "" {
		return true
	}
	number, err := strconv.Atoi(port)
	return err == nil && number >= 1 && number <= 65535
}

func (v *validator) auth(key, prefix string, a Auth) {
	switch a.Method {
	case NoAuth:
	case BasicAuth:
		if a.User == "" {
			v.add(key+".user", "is empty: basic authentication needs a user")
		}
		if !a.Secret.IsSet() {
			v.add("secureJsonData."+prefix+"password", "is not set: enter the password, or set auth to none")
		}
	case BearerAuth:
		if !a.Secret.IsSet() {
			v.add("secureJsonData."+prefix+"token", "is not set: enter the token, or set auth to none")
		} else if strings.ContainsAny(a.Secret.Reveal(), "\r\n") {
			v.add("secureJsonData."+prefix+"token", "has a line break: paste the token as one line")
		}
	default:
		v.add(key+".auth", "%q is not a method: write none, basic or bearer", string(a.Method))
	}
}

func (v *validator) tls(prefix string, t TLS) {
	v.clientCertificate(prefix, t)
	if t.CACert == "" {
		return
	}
	key := "secureJsonData." + prefix + "caCert"
	rest := []byte(t.CACert)
	for found := false; ; found = true {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if !found {
				v.add(key, "holds no PEM certificate: paste the text that starts with -----BEGIN CERTIFICATE-----")
			}
			return
		}
		if block.Type != "CERTIFICATE" {
			v.add(key, "holds a block of type %q: paste the authority's certificate only, never a key", block.Type)
			return
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			v.add(key, "holds a certificate that cannot be read (%w): paste it again", err)
			return
		}
	}
}

func (v *validator) address(key, address string) {
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || host == "" || number < 1 || number > 65535 || strings.ContainsAny(host, "/@ ") {
		v.add(key, "%q is not host:port: write something like node-1.example.com:%s", withoutUser(address), DefaultAgentPort)
	}
}

// allow accepts what hosts does, with or without a port.
func (v *validator) allow(key, entry string) {
	host, port, ok := strings.Cut(entry, ":")
	if inside, after, bracketed := strings.Cut(strings.TrimPrefix(entry, "["), "]:"); bracketed && strings.HasPrefix(entry, "[") && strings.Contains(inside, ":") {
		host, port = inside, after
	}
	if !ok || strings.ContainsAny(port, ":/") {
		v.hosts(key, entry, "with or without a port")
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		v.add(key, "%q has no port after the colon: write one from 1 to 65535, such as node-1:%s", withoutUser(entry), DefaultAgentPort)
		return
	}
	v.hosts(key, host, "with or without a port")
}

// hosts accepts a host name, a pattern for one, an address, or a network. ports says in errors whether there may be one.
func (v *validator) hosts(key, pattern, ports string) {
	if strings.Contains(pattern, "/") {
		if _, err := netip.ParsePrefix(pattern); err != nil {
			v.add(key, "%q is not a network: write something like 10.0.0.0/8, or a host without scheme and path", withoutUser(pattern))
		}
		return
	}
	if _, err := netip.ParseAddr(strings.Trim(pattern, "[]")); err == nil {
		return
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(pattern, "."), ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool { return notPlain(r) && r != '*' && r != '?' }) {
			v.add(key, "%q is not a host: write a name, *.domain, an address or a network, %s", withoutUser(pattern), ports)
			return
		}
	}
}

// withoutUser hides what may be credentials in an address.
func withoutUser(address string) string {
	if at := strings.LastIndex(address, "@"); at >= 0 {
		return "…" + address[at:]
	}
	return address
}

// withPort adds the agent's own port to a host without one.
func withPort(address string) string {
	if address == "" || strings.Contains(address, "/") {
		return address
	}
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	if ip, err := netip.ParseAddr(strings.Trim(address, "[]")); err == nil {
		return net.JoinHostPort(ip.String(), DefaultAgentPort)
	}
	if strings.Contains(address, ":") {
		return address
	}
	return net.JoinHostPort(address, DefaultAgentPort)
}
