package settings

import (
	"fmt"
	"strings"
	"time"
)

// Alertmanager is a server that knows which alerts fire now, and which are silenced. Of its Endpoint what concerns queries is
// not used.
type Alertmanager struct {
	Endpoint

	Cluster string // what its alerts and silences are of that do not say; "" where they are of any
}

// maxAlertmanagers is more than anybody runs.
const maxAlertmanagers = 20

// storedAlertmanager is one as it is written.
type storedAlertmanager struct {
	storedTLS

	ID               string   `json:"id"`
	URL              string   `json:"url"`
	Cluster          string   `json:"cluster"`
	Auth             string   `json:"auth"`
	User             string   `json:"user"`
	Headers          []string `json:"headers"`
	SecureSocksProxy *bool    `json:"secureSocksProxy"`
	Timeout          string   `json:"timeout"`
}

// DefaultAlertmanagerTimeout is how long an Alertmanager may take: it only makes an answer better.
const DefaultAlertmanagerTimeout = 5 * time.Second

// secretsOfAlertmanager is what the keys of its secrets start with.
func secretsOfAlertmanager(id string) string { return "alertmanager_" + id + "_" }

func (a storedAlertmanager) read(key string, secure map[string]string, problems *[]error) Alertmanager {
	prefix := secretsOfAlertmanager(a.ID)
	return Alertmanager{
		Cluster: strings.TrimSpace(a.Cluster),
		Endpoint: Endpoint{
			ID: a.ID, URL: strings.TrimRight(strings.TrimSuffix(cleanURL(a.URL), "/api/v2"), "/"), Auth: auth(a.Auth, a.User, prefix, secure),
			// Nobody's identity is sent to it: what it knows is the same for all.
			Forward: ForwardNever, Headers: headers(a.Headers, prefix, secure), TLS: a.tls(prefix, secure), SecureSocks: switched(a.SecureSocksProxy),
			Timeout:     duration(key+".timeout", a.Timeout, DefaultAlertmanagerTimeout, problems),
			Concurrency: DefaultConcurrency, Compression: CompressAuto,
		},
	}
}

func (v *validator) alertmanagers(all []Alertmanager) {
	v.atMost("alertmanagers", len(all), maxAlertmanagers)
	ids := map[string]string{}
	for i, a := range all {
		at := fmt.Sprintf("alertmanagers[%d]", i)
		v.alertmanagerID(at+".id", a.ID, ids)
		if a.URL == "" {
			v.add(at+".url", "is empty: write the address of Alertmanager, such as http://alertmanager:9093")
		} else {
			v.url(at+".url", a.URL)
		}
		v.auth(at, secretsOfAlertmanager(a.ID), a.Auth)
		v.headers(at+".headers", secretsOfAlertmanager(a.ID)+headerSecret, a.Headers, a.Auth.Method, a.Forward)
		v.tls(secretsOfAlertmanager(a.ID), a.TLS)
		if a.Timeout < time.Second || a.Timeout > time.Minute {
			v.add(at+".timeout", "%s is out of range: write between 1s and 1m", a.Timeout)
		}
	}
}

func (v *validator) alertmanagerID(key, id string, seen map[string]string) {
	switch {
	case id == "":
		v.add(key, "is empty: give the Alertmanager a short id, such as alerts-a")
	case len(id) > maxIDLength || strings.IndexFunc(id, notPlain) >= 0:
		v.add(key, "%q is not an id: use up to %d letters, digits, - and _", id, maxIDLength)
	case seen[id] != "":
		v.add(key, "%q is taken by %s: ids are unique", id, seen[id])
	default:
		seen[id] = strings.TrimSuffix(key, ".id")
	}
}
