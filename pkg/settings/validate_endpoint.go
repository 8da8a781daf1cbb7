package settings

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of numbers.
const (
	maxConcurrency = 1000
	minSeries      = 10
	maxSeries      = 100_000
	minCacheBytes  = 1 << 20
	maxCacheBytes  = 64 << 30
	minFreshness   = 5 * time.Second
	maxFreshness   = 24 * time.Hour
	maxDialects    = 256 << 10 // bytes of text
	maxHeaders     = 20
)

func (v *validator) endpoint(at string, e Endpoint, ids map[string]string) {
	v.id(at+".id", e.ID, ids)
	v.url(at+".url", e.URL)
	switch e.Role {
	case AnyRole, Replica, Shard:
	default:
		v.add(at+".role", "%q is not a role: write replica where any one endpoint of the cluster has everything, or shard where each has a part", string(e.Role))
	}
	v.auth(at, secretsOf(e.ID), e.Auth)
	if e.Forward == ForwardAlways && (e.Auth.Method == BasicAuth || e.Auth.Method == BearerAuth) {
		v.add(at+".oauthPassThru", "cannot go with auth %s, since both fill the header Authorization: set auth to none", string(e.Auth.Method))
	}
	v.headers(at+".headers", secretsOf(e.ID)+headerSecret, e.Headers, e.Auth.Method, e.Forward)
	v.tls(secretsOf(e.ID), e.TLS)
	if e.Timeout < time.Second || e.Timeout > 10*time.Minute {
		v.add(at+".timeout", "%s is out of range: write between 1s and 10m", e.Timeout)
	}
	if e.Concurrency < 1 || e.Concurrency > maxConcurrency {
		v.add(at+".concurrency", "%d is out of range: write how many requests may run at the same time, between 1 and %d", e.Concurrency, maxConcurrency)
	}
	for _, name := range e.ReplicaLabels {
		if !isLabelName(name) {
			v.add(at+".replicaLabels", "%q is not a label name: write the external label that tells replicas apart, such as replica", name)
		}
	}
	if !isCompression(string(e.Compression)) {
		v.add(at+".compression", "%q is not a choice: write auto, on or off", string(e.Compression))
	}
}

func isCompression(text string) bool {
	return slices.Contains([]Compression{CompressAuto, CompressOn, CompressOff}, Compression(text))
}

// roles of one cluster must make sense together.
func (v *validator) roles(key string, c Cluster) {
	var replicas []string
	others := 0
	for _, e := range c.Endpoints {
		if e.Role == Replica {
			replicas = append(replicas, e.ID)
		} else {
			others++
		}
	}
	if len(replicas) == 1 && others > 0 {
		v.add(key+".endpoints", "%s is the only replica: mark the endpoints that hold the same as replicas, too, or remove its role", replicas[0])
	}
}

// ownHeaders are set by the connection itself, and wrong ones break it.
func ownHeaders() []string {
	return []string{
		"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade",
	}
}

func (v *validator) headers(key, secret string, headers []Header, method Method, forward Forwarding) {
	if len(headers) > maxHeaders {
		v.add(key, "lists %d headers: %d are enough for any proxy", len(headers), maxHeaders)
	}
	seen := map[string]bool{}
	for _, h := range headers {
		name := http.CanonicalHeaderKey(h.Name)
		switch {
		case h.Name == "" || strings.ContainsFunc(h.Name, notToken):
			v.add(key, "%q is not the name of a header: write something like X-Scope-OrgID", h.Name)
			continue
		case slices.Contains(ownHeaders(), name):
			v.add(key, "%s belongs to the connection: remove it", name)
			continue
		case name == "Authorization" && method != NoAuth:
			v.add(key, "Authorization is filled by auth %s: remove it, or set auth to none", string(method))
		case name == "Authorization" && forward == ForwardAlways:
			v.add(key, "Authorization is filled by oauthPassThru: remove it, or set oauthPassThru to false")
		case seen[name]:
			v.add(key, "%s is listed twice: keep one", name)
			continue
		}
		seen[name] = true
		if !h.Value.IsSet() {
			v.add("secureJsonData."+secret+h.Name, "is not set: enter the header's value, or remove the header")
		} else if strings.ContainsFunc(h.Value.Reveal(), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			v.add("secureJsonData."+secret+h.Name, "has a line break or another control character: paste the value as one line")
		}
	}
}

// notToken tells what may not be in the name of a header.
func notToken(r rune) bool { return notPlain(r) && !strings.ContainsRune("!#$%&'*+.^`|~", r) }

// clientCertificate never repeats what the parser says about a key: it may quote it.
func (v *validator) clientCertificate(prefix string, t TLS) {
	certificate, key := "secureJsonData."+prefix+"tlsClientCert", "secureJsonData."+prefix+"tlsClientKey"
	switch {
	case t.ClientCert == "" && !t.ClientKey.IsSet():
	case t.ClientCert == "":
		v.add(certificate, "is not set, but its key is: paste the certificate that belongs to the key, or remove the key")
	case !t.ClientKey.IsSet():
		v.add(key, "is not set, but the certificate is: paste the key that belongs to the certificate, or remove the certificate")
	case !strings.Contains(t.ClientCert, "-----BEGIN CERTIFICATE-----"):
		v.add(certificate, "holds no PEM certificate: paste the text that starts with -----BEGIN CERTIFICATE-----")
	case !strings.Contains(t.ClientKey.Reveal(), "PRIVATE KEY-----"):
		v.add(key, "holds no PEM key: paste the text that starts with -----BEGIN PRIVATE KEY-----")
	default:
		if _, err := tls.X509KeyPair([]byte(t.ClientCert), []byte(t.ClientKey.Reveal())); err != nil {
			v.add(key, "does not fit the certificate in %stlsClientCert, or one of them cannot be read: paste both again, the key without a password", prefix)
		}
	}
}

func (v *validator) cache(c Cache) {
	if c.MaxBytes != 0 && (c.MaxBytes < minCacheBytes || c.MaxBytes > maxCacheBytes) {
		v.add("cache.maxBytes", "%d is out of range: write a number of bytes between %d (1 MiB) and %d (64 GiB), or 0 for no cache",
			c.MaxBytes, int64(minCacheBytes), int64(maxCacheBytes))
	}
	if c.Freshness != 0 && (c.Freshness < minFreshness || c.Freshness > maxFreshness) {
		v.add("cache.freshness", "%s is out of range: write how late samples may reach Prometheus, between %s and %s, or leave it out", c.Freshness, minFreshness, maxFreshness)
	}
	r := c.Remote
	switch r.Type {
	case "":
		if len(r.Addresses) > 0 {
			v.add("cache.remote.type", "is empty: write memcached or redis, or remove cache.remote")
		}
		return
	case "memcached":
		if r.User != "" || r.Password.IsSet() || r.Database != 0 {
			v.add("cache.remote", "has a user, a password or a database, which memcached does not know: remove them")
		}
	case "redis":
	default:
		v.add("cache.remote.type", "%q is not a cache: write memcached or redis", r.Type)
	}
	if c.MaxBytes == 0 {
		v.add("cache.remote", "is set, but cache.maxBytes is 0, which turns the cache off: remove one of them")
	}
	if len(r.Addresses) == 0 {
		v.add("cache.remote.addresses", "is empty: list servers as host:port")
	}
	for i, address := range r.Addresses {
		host, port, err := net.SplitHostPort(address)
		number, portErr := strconv.Atoi(port)
		if err != nil || portErr != nil || host == "" || number < 1 || number > 65535 || strings.ContainsAny(host, "/@ ") {
			v.add(fmt.Sprintf("cache.remote.addresses[%d]", i), "%q is not host:port: write something like cache-1.example.com:%s", withoutUser(address), cachePort(r.Type))
		}
	}
	if r.Database < 0 || r.Database > 15 {
		v.add("cache.remote.database", "%d is out of range: write between 0 and 15", r.Database)
	}
	if r.Timeout < 10*time.Millisecond || r.Timeout > 10*time.Second {
		v.add("cache.remote.timeout", "%s is out of range: write between 10ms and 10s", r.Timeout)
	}
}

func cachePort(kind string) string {
	if kind == "redis" {
		return "6379"
	}
	return "11211"
}

// dialects are judged by the catalogue; here only that there is a list to judge.
func (v *validator) dialects(raw json.RawMessage) {
	switch {
	case len(raw) == 0:
	case len(raw) > maxDialects:
		v.add("dialects", "is %d KiB long: keep to %d KiB", len(raw)>>10, maxDialects>>10)
	case !json.Valid(raw):
		var tree json.RawMessage
		at := int64(0)
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, &tree)); ok {
			at = syntax.Offset
		}
		v.add("dialects", "is not valid JSON at byte %d: correct it there", at)
	case raw[0] != '[':
		v.add("dialects", "is not a list: write [{\"name\": …, \"labels\": …, \"series\": …}]")
	}
}
