package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Parse reads jsonData and the decrypted secureJsonData, fills in defaults and validates. The error joins every
// problem found; each names its key and says what to write there. Secrets are in none of them.
func Parse(jsonData json.RawMessage, secure map[string]string) (Settings, error) {
	if len(bytes.TrimSpace(jsonData)) == 0 {
		jsonData = json.RawMessage("{}")
	}
	var in stored
	if err := json.Unmarshal(jsonData, &in); err != nil {
		return Settings{}, decodeError(err)
	}
	var problems []error
	s := Settings{
		NoticeLevel:    level("noticeLevel", in.NoticeLevel, gpu.Info, &problems),
		FailedEndpoint: level("failedEndpoint", in.FailedEndpoint, gpu.Warning, &problems),
		ScrapeInterval: duration("scrapeInterval", in.ScrapeInterval, DefaultScrapeInterval, &problems),
		MaxSeries:      orDefault(in.MaxSeries, DefaultMaxSeries),
		Cache:          in.Cache.read(secure, &problems),
		Live:           in.Live.read(),
		Dialects:       rawDialects(in.Dialects),
		Insight:        in.Insight.read(&problems),
		Unknown:        unknownKeys(jsonData, secure, in),
	}
	if !isCompression(in.Compression) && in.Compression != "" {
		problems = append(problems, fmt.Errorf("compression: %q is not a choice: write auto, on or off", in.Compression))
		in.Compression = ""
	}
	for i, c := range in.Clusters {
		cluster := Cluster{Name: strings.TrimSpace(c.Name)}
		for j, e := range c.Endpoints {
			key := fmt.Sprintf("clusters[%d].endpoints[%d]", i, j)
			cluster.Endpoints = append(cluster.Endpoints, e.read(key, in, secure, &problems))
		}
		s.Clusters = append(s.Clusters, cluster)
	}
	for i, a := range in.Alertmanagers {
		s.Alertmanagers = append(s.Alertmanagers, a.read(fmt.Sprintf("alertmanagers[%d]", i), secure, &problems))
	}
	s.Agents = in.Agents.read(secure, &problems)
	if err := s.Validate(); err != nil {
		problems = append(problems, err)
	}
	return s, errors.Join(problems...)
}

// read fills in an endpoint's defaults.
func (e storedEndpoint) read(key string, in stored, secure map[string]string, problems *[]error) Endpoint {
	prefix := secretsOf(e.ID)
	out := Endpoint{
		ID: e.ID, URL: cleanURL(e.URL), Role: Role(e.Role),
		Timeout:     duration(key+".timeout", e.Timeout, DefaultTimeout, problems),
		Concurrency: orDefault(e.Concurrency, DefaultConcurrency),
		Auth:        auth(e.Auth, e.User, prefix, secure),
		TLS:         e.tls(prefix, secure),
		SecureSocks: switched(e.SecureSocksProxy),
		Compression: Compression(cmp.Or(e.Compression, in.Compression, string(CompressAuto))),
	}
	switch switched(e.OAuthPassThru) {
	case On:
		out.Forward = ForwardAlways
		if string(in.OAuthPassThru) != "true" {
			*problems = append(*problems, fmt.Errorf("%s.oauthPassThru: Grafana hands over no identity as long as the data source's own oauthPassThru is off: "+
				"set it at the top level, too", key))
		}
	case Off:
		out.Forward = ForwardNever
	}
	for _, name := range append([]string{e.ReplicaLabel}, e.ReplicaLabels...) {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out.ReplicaLabels, name) {
			out.ReplicaLabels = append(out.ReplicaLabels, name)
		}
	}
	out.Headers = headers(e.Headers, prefix, secure)
	return out
}

func headers(names []string, prefix string, secure map[string]string) []Header {
	var list []Header
	for _, name := range names {
		list = append(list, Header{Name: strings.TrimSpace(name), Value: NewSecret(strings.TrimSpace(secure[prefix+headerSecret+name]))})
	}
	return list
}

// secretsOf is what the keys of an endpoint's secrets start with.
func secretsOf(id string) string { return "endpoint_" + id + "_" }

// headerSecret is what stands before a header's name in the key of its value.
const headerSecret = "header_"

func (t storedTLS) tls(prefix string, secure map[string]string) TLS {
	return TLS{
		SkipVerify: t.TLSSkipVerify, ServerName: t.ServerName, CACert: secure[prefix+"caCert"],
		ClientCert: secure[prefix+"tlsClientCert"], ClientKey: NewSecret(secure[prefix+"tlsClientKey"]),
	}
}

func (c storedCache) read(secure map[string]string, problems *[]error) Cache {
	out := Cache{MaxBytes: orDefault(c.MaxBytes, DefaultCacheBytes), Freshness: duration("cache.freshness", c.Freshness, 0, problems)}
	if c.Remote == nil {
		return out
	}
	out.Remote = RemoteCache{
		Type: c.Remote.Type, User: c.Remote.User, Database: c.Remote.Database, TLS: c.Remote.TLS, Password: NewSecret(secure["cache_password"]),
		Timeout: duration("cache.remote.timeout", c.Remote.Timeout, DefaultCacheTimeout, problems),
	}
	for _, address := range c.Remote.Addresses {
		if address = strings.TrimSpace(address); address != "" {
			out.Remote.Addresses = append(out.Remote.Addresses, address)
		}
	}
	return out
}

// rawDialects takes the quotes off where a form stored the text of the JSON.
func rawDialects(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = bytes.TrimSpace([]byte(text))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

func orDefault[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

func switched(value *bool) Switch {
	switch {
	case value == nil:
		return AsDataSource
	case *value:
		return On
	}
	return Off
}

func level(key, text string, fallback gpu.Severity, problems *[]error) gpu.Severity {
	switch text {
	case "":
	case "info":
		return gpu.Info
	case "warning":
		return gpu.Warning
	case "error":
		return gpu.Error
	default:
		*problems = append(*problems, fmt.Errorf("%s: %q is not a level: write info, warning or error", key, text))
	}
	return fallback
}

func auth(method, user, prefix string, secure map[string]string) Auth {
	a := Auth{Method: Method(method), User: user}
	switch a.Method {
	case "":
		a.Method = NoAuth
	case BasicAuth:
		a.Secret = NewSecret(secure[prefix+"password"])
	case BearerAuth:
		a.Secret = NewSecret(strings.TrimSpace(secure[prefix+"token"]))
	}
	return a
}

func duration(key, text string, fallback time.Duration, problems *[]error) time.Duration {
	if text = strings.TrimSpace(text); text == "" {
		return fallback
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		*problems = append(*problems, fmt.Errorf("%s: %q is not a duration: write a number with its unit, such as 15s or 1m", key, text))
		return fallback
	}
	return d
}

// decodeError says where JSON does not fit, in the user's words rather than in those of Go's types.
func decodeError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("%s: expected %s, found %s: correct it in the data source's settings or its provisioning file",
			strings.NewReplacer("storedTLS.", "", "storedAccess.", "").Replace(wrong.Field), jsonKind(wrong.Type.Kind().String()), wrong.Value)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("jsonData: not valid JSON at byte %d (%w): save the data source's settings again or correct its provisioning file",
			syntax.Offset, syntax)
	}
	return errors.New("jsonData: expected an object: save the data source's settings again or correct its provisioning file")
}

func jsonKind(goKind string) string {
	switch goKind {
	case "slice":
		return "a list"
	case "struct":
		return "an object"
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number"
	default:
		return "text in quotes"
	}
}
