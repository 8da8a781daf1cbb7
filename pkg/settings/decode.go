package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// stored is jsonData as Grafana keeps it.
type stored struct {
	Clusters []struct {
		Name      string `json:"name"`
		Endpoints []struct {
			ID            string `json:"id"`
			URL           string `json:"url"`
			Auth          string `json:"auth"`
			User          string `json:"user"`
			Timeout       string `json:"timeout"`
			ReplicaLabel  string `json:"replicaLabel"`
			TLSSkipVerify bool   `json:"tlsSkipVerify"`
			ServerName    string `json:"serverName"`
		} `json:"endpoints"`
	} `json:"clusters"`
	ScrapeInterval string `json:"scrapeInterval"`
	Agents         struct {
		Discovery string `json:"discovery"`
		Static    []struct {
			Cluster string `json:"cluster"`
			Address string `json:"address"`
		} `json:"static"`
		Allow         []string `json:"allow"`
		Scheme        string   `json:"scheme"`
		Auth          string   `json:"auth"`
		User          string   `json:"user"`
		TLSSkipVerify bool     `json:"tlsSkipVerify"`
		ServerName    string   `json:"serverName"`
	} `json:"agents"`
	NoticeLevel string `json:"noticeLevel"`
}

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
	s := Settings{NoticeLevel: gpu.Info, Unknown: unknownKeys(jsonData, secure, in)}

	s.ScrapeInterval = duration("scrapeInterval", in.ScrapeInterval, DefaultScrapeInterval, &problems)
	switch in.NoticeLevel {
	case "", "info":
	case "warning":
		s.NoticeLevel = gpu.Warning
	case "error":
		s.NoticeLevel = gpu.Error
	default:
		problems = append(problems, fmt.Errorf("noticeLevel: %q is not a level: write info, warning or error", in.NoticeLevel))
	}
	for i, c := range in.Clusters {
		cluster := Cluster{Name: strings.TrimSpace(c.Name)}
		for j, e := range c.Endpoints {
			key := fmt.Sprintf("clusters[%d].endpoints[%d]", i, j)
			prefix := "endpoint_" + e.ID + "_"
			cluster.Endpoints = append(cluster.Endpoints, Endpoint{
				ID: e.ID, URL: cleanURL(e.URL), ReplicaLabel: strings.TrimSpace(e.ReplicaLabel),
				Timeout: duration(key+".timeout", e.Timeout, DefaultTimeout, &problems),
				Auth:    auth(e.Auth, e.User, prefix, secure),
				TLS:     TLS{SkipVerify: e.TLSSkipVerify, ServerName: e.ServerName, CACert: secure[prefix+"caCert"]},
			})
		}
		s.Clusters = append(s.Clusters, cluster)
	}
	s.Agents = Agents{
		Discovery: Discovery(in.Agents.Discovery),
		Scheme:    in.Agents.Scheme,
		Auth:      auth(in.Agents.Auth, in.Agents.User, "agents_", secure),
		TLS: TLS{
			SkipVerify: in.Agents.TLSSkipVerify, ServerName: in.Agents.ServerName, CACert: secure["agents_caCert"],
		},
	}
	for _, a := range in.Agents.Static {
		s.Agents.Static = append(s.Agents.Static, StaticAgent{
			Cluster: strings.TrimSpace(a.Cluster), Address: withPort(strings.TrimSpace(a.Address)),
		})
	}
	for _, pattern := range in.Agents.Allow {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			s.Agents.Allow = append(s.Agents.Allow, pattern)
		}
	}
	if s.Agents.Discovery == "" {
		s.Agents.Discovery = DiscoverPrometheus
		if len(s.Agents.Static) > 0 {
			s.Agents.Discovery = DiscoverStatic
		}
	}
	if s.Agents.Scheme == "" {
		s.Agents.Scheme = "http"
	}
	if err := s.Validate(); err != nil {
		problems = append(problems, err)
	}
	return s, errors.Join(problems...)
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
			wrong.Field, jsonKind(wrong.Type.Kind().String()), wrong.Value)
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
	default:
		return "text in quotes"
	}
}

// unknownKeys lists what is written but never read. On the top level Grafana and its SDK keep keys of their own
// (httpHeaderName1, oauthPassThru, …), so only what lies below our keys is judged, and secrets by their prefix.
func unknownKeys(jsonData json.RawMessage, secure map[string]string, in stored) []string {
	var top struct {
		Clusters []struct {
			Endpoints []map[string]json.RawMessage `json:"endpoints"`
		} `json:"clusters"`
		Agents map[string]json.RawMessage `json:"agents"`
	}
	if json.Unmarshal(jsonData, &top) != nil {
		return nil // the typed decoding reports it
	}
	var unknown []string
	add := func(path string, object map[string]json.RawMessage, known ...string) {
		for key := range object {
			if !slices.Contains(known, key) {
				unknown = append(unknown, path+"."+key)
			}
		}
	}
	secrets := []string{"agents_password", "agents_token", "agents_caCert"}
	for i, c := range top.Clusters {
		for j, e := range c.Endpoints {
			add(fmt.Sprintf("clusters[%d].endpoints[%d]", i, j), e,
				"id", "url", "auth", "user", "timeout", "replicaLabel", "tlsSkipVerify", "serverName")
			prefix := "endpoint_" + in.Clusters[i].Endpoints[j].ID + "_"
			secrets = append(secrets, prefix+"password", prefix+"token", prefix+"caCert")
		}
	}
	add("agents", top.Agents, "discovery", "static", "allow", "scheme", "auth", "user", "tlsSkipVerify", "serverName")
	for key, value := range secure {
		ours := strings.HasPrefix(key, "endpoint_") || strings.HasPrefix(key, "agents_")
		if ours && value != "" && !slices.Contains(secrets, key) {
			unknown = append(unknown, "secureJsonData."+key)
		}
	}
	sort.Strings(unknown)
	return unknown
}
