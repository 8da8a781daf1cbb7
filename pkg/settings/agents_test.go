package settings_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/settings"
)

func agentsOf(t *testing.T, agents string, secure map[string]string) (settings.Settings, error) {
	t.Helper()
	return settings.Parse(json.RawMessage(`{"agents":`+agents+`}`), secure)
}

func TestAgentSources(t *testing.T) {
	s, err := agentsOf(t, `{"dns":[{"cluster":"north","name":"_a._tcp.gpu.test"},{"name":"dns+gpu.test","interval":"1m"},{"name":"dnssrv+_a._tcp.gpu.test.:99"}],
		"files":[{"cluster":"north","content":"- targets: [n1, 'n2:99']\n- targets: ['[::1]:9847']\n  labels: {cluster: south, node: n3, __scheme__: https, rack: r1}"},
			{"name":"racks","content":[{"targets":["n4"]}]},
			{"content":"[{\"targets\":[\"n5\"],\"labels\":{\"node\":\"five\"}}]"}]}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Agents{
		Discovery: settings.DiscoverStatic, Access: settings.Access{Scheme: "http", Auth: settings.Auth{Method: settings.NoAuth}},
		DNS: []settings.DNSName{
			{Cluster: "north", Name: "dnssrvnoa+_a._tcp.gpu.test", Every: 30 * time.Second},
			{Name: "dns+gpu.test:9847", Every: time.Minute}, {Name: "dnssrv+_a._tcp.gpu.test.:99", Every: 30 * time.Second},
		},
		Files: []settings.AgentFile{
			{Name: "file 1", Agents: []settings.StaticAgent{
				{Cluster: "north", Address: "n1:9847"}, {Cluster: "north", Address: "n2:99"},
				{Cluster: "south", Node: "n3", Address: "[::1]:9847", Scheme: "https"},
			}},
			{Name: "racks", Agents: []settings.StaticAgent{{Address: "n4:9847"}}},
			{Name: "file 3", Agents: []settings.StaticAgent{{Node: "five", Address: "n5:9847"}}},
		},
	}
	if !reflect.DeepEqual(s.Agents, want) {
		t.Errorf("got  %+v\nwant %+v", s.Agents, want)
	}
	if len(s.Unknown) > 0 {
		t.Errorf("unknown %v", s.Unknown)
	}
}

func TestAgentGroups(t *testing.T) {
	s, err := agentsOf(t, `{"static":[{"address":"n1"}],"auth":"bearer","headers":["X-Org"],"secureSocksProxy":true,
		"groups":[{"id":"dmz","hosts":[" *.dmz.test ","10.1.0.0/16"],"scheme":"https","auth":"basic","user":"u","headers":["X-Key"],"serverName":"agent"}]}`,
		map[string]string{"agents_token": "t-1", "agents_header_X-Org": "o", "agentgroup_dmz_password": "p-1", "agentgroup_dmz_header_X-Key": "k", "agentgroup_dnz_token": "x"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Agents
	if !a.HasCredentials() || a.SecureSocks != settings.On || !s.WantsSecureSocks() || a.Headers[0].Value.Reveal() != "o" {
		t.Errorf("agents %+v", a)
	}
	want := settings.AgentGroup{ID: "dmz", Hosts: []string{"*.dmz.test", "10.1.0.0/16"}, Access: settings.Access{
		Scheme: "https", Auth: settings.Auth{Method: settings.BasicAuth, User: "u", Secret: settings.NewSecret("p-1")},
		Headers: []settings.Header{{Name: "X-Key", Value: settings.NewSecret("k")}}, TLS: settings.TLS{ServerName: "agent"},
	}}
	if len(a.Groups) != 1 || !reflect.DeepEqual(a.Groups[0], want) {
		t.Errorf("groups %+v", a.Groups)
	}
	if fmt.Sprint(s.Unknown) != "[secureJsonData.agentgroup_dnz_token]" {
		t.Errorf("unknown %v", s.Unknown)
	}
	if shown := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(shown, "p-1") || strings.Contains(shown, "t-1") {
		t.Error("a secret shows")
	}
}

func TestAgentProblems(t *testing.T) {
	for agents, want := range map[string]string{
		`{"dns":[{"name":""}]}`:                                                     "agents.dns[0].name: is empty: write something like dnssrv+_warpwatch._tcp.example.com",
		`{"dns":[{"name":"srv+a"}]}`:                                                `agents.dns[0].name: "srv+a" does not begin with a way to look it up: write dns+host:port, dnssrv+name or dnssrvnoa+name`,
		`{"dns":[{"name":"dns+http://a:1"}]}`:                                       `agents.dns[0].name: "http://a:1" is not host:port: write something like node-1.example.com:9847`,
		`{"dns":[{"name":"dnssrv+a b"}]}`:                                           `agents.dns[0].name: "dnssrv+a b" is not a name in DNS: write something like dnssrv+_warpwatch._tcp.example.com`,
		`{"dns":[{"name":"_a.b","interval":"1s"}]}`:                                 "agents.dns[0].interval: 1s is out of range: write how often to look it up, between 5s and 1h",
		`{"dns":[{"name":"_a.b","interval":"x"}]}`:                                  `agents.dns[0].interval: "x" is not a duration: write a number with its unit, such as 15s or 1m`,
		`{"files":[{"content":""}]}`:                                                `agents.files[0].content: is empty: paste a file of Prometheus's file_sd_configs, such as [{"targets": ["node-1:9847"], "labels": {"cluster": "north"}}]`,
		`{"files":[{"content":"[]"}]}`:                                              `agents.files[0].content: lists no targets: paste a file of Prometheus's file_sd_configs, such as [{"targets": ["node-1:9847"], "labels": {"cluster": "north"}}]`,
		`{"files":[{"content":"a: b"}]}`:                                            `agents.files[0].content: cannot be read (line 1: cannot unmarshal !!map where a list of entries belongs): paste a file`,
		`{"files":[{"content":"- tagets: [a]"}]}`:                                   `agents.files[0].content: cannot be read (line 1: field tagets is not known: an entry has targets and labels): paste a file`,
		`{"files":[{"content":"- targets: ['a:b','x@y']"}]}`:                        `agents.files[0].content[0].targets[0]: "a:b" is not host:port: write something like node-1.example.com:9847`,
		`{"files":[{"content":"- targets: []"}]}`:                                   "agents.files[0].content[0].targets: is empty: list agents as host:port, or remove the entry",
		`{"files":[{"content":[{"targets":["a"],"labels":{"__scheme__":"ftp"}}]}]}`: `agents.files[0].content[0].labels.__scheme__: "ftp" is not a scheme: write http or https`,
		`{"files":[{"content":[{"targets":["a","b"],"labels":{"node":"n"}}]}]}`:     `agents.files[0].content[0].labels.node: "n" is the name of one node, but there are 2 targets`,
		`{"files":[{"name":"f","content":[{"targets":["a"]}]},{"name":"f","content":[{"targets":["a"]}]}]}`: `agents.files[1].name: "f" is also the name of agents.files[0]: rename one`,
		`{"static":[{"address":"a"}],"groups":[{"id":"","hosts":[]}]}`:                                      "agents.groups[0].id: is empty: give the group a short id, such as dmz\nagents.groups[0].hosts: is empty: list the hosts, *.domain or networks that the group's settings are for",
		`{"static":[{"address":"a"}],"groups":[{"id":"a b","hosts":["http://x"],"scheme":"ftp"}]}`:          "agents.groups[0].id: \"a b\" is not an id: use up to 64 letters, digits, - and _\nagents.groups[0].hosts[0]: \"http://x\" is not a network",
		`{"static":[{"address":"a"}],"groups":[{"id":"x","hosts":["a"]},{"id":"x","hosts":["b"]}]}`:         `agents.groups[1].id: "x" is taken by agents.groups[0]: each group has its own`,
		`{"static":[{"address":"a"}],"groups":[{"id":"x","hosts":["a"],"auth":"bearer"}]}`:                  "secureJsonData.agentgroup_x_token: is not set: enter the token, or set auth to none",
		`{"static":[{"address":"a"}],"headers":["Host","X-A"]}`:                                             "agents.headers: Host belongs to the connection: remove it\nsecureJsonData.agents_header_X-A: is not set: enter the header's value, or remove the header",
		`{"static":[{"address":"a"}],"groups":[{"id":"x","hosts":["a"],"headers":["Sec-WebSocket-Key"]}]}`:  "agents.groups[0].headers: Sec-WebSocket-Key belongs to the connection: remove it",
		`{"groups":[{"id":1}]}`: "agents.groups.id: expected text in quotes, found number",
	} {
		_, err := agentsOf(t, agents, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", agents, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "x@y") {
			t.Errorf("%s: what may be a password is shown: %v", agents, err)
		}
	}
	var bad []string
	for range 100 {
		bad = append(bad, `"a:b"`)
	}
	_, err := agentsOf(t, `{"files":[{"content":[{"targets":[`+strings.Join(bad, ",")+`]}]}]}`, nil)
	if err == nil || strings.Count(err.Error(), "\n") != 5 || !strings.Contains(err.Error(), "agents.files[0].content: 95 more problems like these") {
		t.Errorf("many problems: %v", err)
	}
	if _, err := agentsOf(t, `{"files":[{"content":"`+strings.Repeat("a", 3<<20)+`"}]}`, nil); err == nil || !strings.Contains(err.Error(), "is 3072 KiB long: keep to 2048 KiB") {
		t.Errorf("a long file: %.200v", err)
	}
}

func FuzzAgentFile(f *testing.F) {
	for _, content := range []string{"- targets: [a]", `[{"targets":["a:1"],"labels":{"node":"n"}}]`, "&a [*a]", "- targets: !!binary x", "---\n---", "{", "- &x {targets: [a]}\n- *x"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		raw, err := json.Marshal(content)
		if err != nil {
			t.Skip()
		}
		s, err := agentsOf(t, `{"files":[{"content":`+string(raw)+`}]}`, nil)
		if err == nil && (len(s.Agents.Files) != 1 || len(s.Agents.Files[0].Agents) == 0) {
			t.Errorf("%q is accepted and lists nobody", content)
		}
	})
}

func TestAgentMemory(t *testing.T) {
	s, err := agentsOf(t, `{"static":[{"address":"n1"}],"maxBytes":33554432}`, nil)
	if err != nil || s.Agents.MaxBytes != 32<<20 || len(s.Unknown) > 0 {
		t.Errorf("%d, %v, unknown %v", s.Agents.MaxBytes, err, s.Unknown)
	}
	for _, bytes := range []string{"-1", "1048576", "1000000000000"} {
		if _, err := agentsOf(t, `{"static":[{"address":"n1"}],"maxBytes":`+bytes+`}`, nil); err == nil || !strings.Contains(err.Error(), "agents.maxBytes") {
			t.Errorf("%s: %v", bytes, err)
		}
	}
}
