package settings

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// unknownKeys lists what is written but never read, with its path. Grafana and its SDK keep keys of their own on the top
// level (httpHeaderName1, oauthPassThru, …), so there only what looks like one of ours is listed; secrets are judged by
// their prefix.
func unknownKeys(jsonData json.RawMessage, secure map[string]string, in stored) []string {
	var top map[string]json.RawMessage
	if json.Unmarshal(jsonData, &top) != nil {
		return nil // the typed decoding reports it
	}
	ours := keysOf(reflect.TypeFor[stored]())
	var unknown []string
	for key, value := range top {
		switch {
		case knows(ours, key):
			if name := exact(ours, key); name != "dialects" {
				unknown = append(unknown, below(name, fieldOf(name), value)...)
			}
		case !slices.Contains(grafanaKeys(), key) && slices.ContainsFunc(ours, func(name string) bool { return misspelt(key, name) }):
			unknown = append(unknown, key)
		}
	}
	secrets := append([]string{"cache_password"}, secretKeys(agentSecrets, in.Agents.Headers)...)
	for _, g := range in.Agents.Groups {
		secrets = append(secrets, secretKeys(secretsOfGroup(g.ID), g.Headers)...)
	}
	for _, a := range in.Alertmanagers {
		secrets = append(secrets, secretKeys(secretsOfAlertmanager(a.ID), a.Headers)...)
	}
	for _, c := range in.Clusters {
		for _, e := range c.Endpoints {
			secrets = append(secrets, secretKeys(secretsOf(e.ID), e.Headers)...)
		}
	}
	for key, value := range secure {
		mine := strings.HasPrefix(key, "endpoint_") || strings.HasPrefix(key, "agents_") || strings.HasPrefix(key, "agentgroup_") ||
			strings.HasPrefix(key, "alertmanager_") || strings.HasPrefix(key, "cache_")
		if mine && value != "" && !slices.Contains(secrets, key) {
			unknown = append(unknown, "secureJsonData."+key)
		}
	}
	sort.Strings(unknown)
	return unknown
}

// secretKeys are the keys of the secrets of whoever's start with a prefix.
func secretKeys(prefix string, headers []string) []string {
	keys := []string{prefix + "password", prefix + "token", prefix + "caCert", prefix + "tlsClientCert", prefix + "tlsClientKey"}
	for _, name := range headers {
		keys = append(keys, prefix+headerSecret+name)
	}
	return keys
}

// below lists the unknown keys of a value that is read into t.
func below(path string, t reflect.Type, value json.RawMessage) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var unknown []string
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) == nil {
			for i, item := range items {
				unknown = append(unknown, below(fmt.Sprintf("%s[%d]", path, i), t.Elem(), item)...)
			}
		}
	case t.Kind() == reflect.Struct:
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil
		}
		names := fieldsOf(t)
		for key, inner := range object {
			if field, ok := lookup(names, key); ok {
				unknown = append(unknown, below(path+"."+key, field, inner)...)
			} else {
				unknown = append(unknown, path+"."+key)
			}
		}
	}
	return unknown
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for key := range fieldsOf(t) {
		keys = append(keys, key)
	}
	return keys
}

func fieldOf(key string) reflect.Type { return fieldsOf(reflect.TypeFor[stored]())[key] }

// fieldsOf are the types of a struct's fields by their keys, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if name := field.Tag.Get("json"); name != "" {
			fields[name] = field.Type
		}
	}
	return fields
}

// lookup finds a key as encoding/json does, whatever its case.
func lookup(fields map[string]reflect.Type, key string) (reflect.Type, bool) {
	if t, ok := fields[key]; ok {
		return t, true
	}
	for name, t := range fields {
		if strings.EqualFold(name, key) {
			return t, true
		}
	}
	return nil, false
}

func exact(names []string, key string) string {
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
	return names[i]
}

func knows(names []string, key string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
}

// grafanaKeys are keys of others that look like ours.
func grafanaKeys() []string { return []string{"timeout", "caching", "labels", "dialTimeout"} }

// misspelt reports whether a key differs from a name of ours by at most two letters.
func misspelt(key, name string) bool {
	const most = 2
	key, name = strings.ToLower(key), strings.ToLower(name)
	if len(key) > len(name)+most || len(name) > len(key)+most || len(name) <= 2*most {
		return false
	}
	row := make([]int, len(name)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(key) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(name) {
			cost := diagonal
			if key[i] != name[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(name)] <= most
}
