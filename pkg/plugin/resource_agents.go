package plugin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
)

// Rows of a page of agents.
const (
	agentsPage    = 100
	maxAgentsPage = 1000
)

type agentInfo struct {
	Cluster       string     `json:"cluster"`
	Node          string     `json:"node"`
	Address       string     `json:"address"`
	State         string     `json:"state"`
	Since         *time.Time `json:"since,omitempty"`
	Error         string     `json:"error"`
	Version       string     `json:"version"`
	Source        string     `json:"source"`
	PeriodMs      int64      `json:"periodMs"`
	ClockOffsetMs int64      `json:"clockOffsetMs"`
	Devices       int        `json:"devices"`
	Found         string     `json:"found"` // the sources of discovery that name it
	LastSeen      *time.Time `json:"lastSeen,omitempty"`
	Missed        uint64     `json:"missed"` // samples since it was connected to, and below
	Repeated      uint64     `json:"repeated"`
	Reordered     uint64     `json:"reordered"`
	Late          uint64     `json:"late"`
	Future        uint64     `json:"future"`
}

func agentInfoOf(n live.NodeStatus) agentInfo {
	info := agentInfo{
		Cluster: n.Cluster, Node: n.Node, Address: n.Address, State: string(n.State), Version: n.AgentVersion, Source: n.Source,
		PeriodMs: n.Period.Milliseconds(), ClockOffsetMs: n.ClockOffset.Milliseconds(), Devices: n.Devices, Found: n.Found,
		Missed: n.Drops.Missed, Repeated: n.Drops.Repeated, Reordered: n.Drops.Reordered, Late: n.Drops.Late, Future: n.Drops.Future,
	}
	if !n.Since.IsZero() {
		info.Since = &n.Since
	}
	if !n.LastSeen.IsZero() {
		info.LastSeen = &n.LastSeen
	}
	if n.Err != nil {
		info.Error = n.Err.Error()
	}
	return info
}

// serveAgents lists the agents that are known and how their connections are. It connects to none.
func (d *Datasource) serveAgents(r *http.Request) (any, error) {
	if d.broken != nil {
		return nil, d.unusable()
	}
	nodes, err := d.live.Nodes(r.Context())
	if err != nil && len(nodes) == 0 {
		return nil, err
	}
	infos := []agentInfo{}
	for _, n := range nodes {
		infos = append(infos, agentInfoOf(n))
	}
	return infos, nil
}

type agentsAnswer struct {
	Agents  []agentInfo    `json:"agents"`
	Matched int            `json:"matched"` // agents on all pages
	States  map[string]int `json:"states"`  // of all agents, whatever is asked for
	Sources []sourceInfo   `json:"sources"`
	Notices []noticeInfo   `json:"notices"`
}

type sourceInfo struct {
	Name   string     `json:"name"`
	Found  int        `json:"found"`
	At     *time.Time `json:"at,omitempty"` // of its last good answer
	Error  string     `json:"error"`        // why it did not answer since
	Asking bool       `json:"asking"`
}

// agentsAsked is which agents a page is of.
type agentsAsked struct {
	states, clusters []string
	search           string // part of a node's name or address
	limit, offset    int
}

// serveAgentsPage is a page of the agents that match, with how many are in each state and how it stands with the sources
// of discovery. It connects to none, and answers with what is known while sources fail.
func (d *Datasource) serveAgentsPage(r *http.Request) (any, error) {
	if d.broken != nil {
		return nil, d.unusable()
	}
	asked, err := readAgentsAsked(r.URL.Query())
	if err != nil {
		return nil, badInput(err)
	}
	nodes, err := d.live.Nodes(r.Context())
	var notices []gpu.Notice
	if err != nil {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "Agents are missing: " + strings.TrimSuffix(err.Error(), ".") + "."})
	}
	answer := agentsAnswer{Agents: []agentInfo{}, States: map[string]int{}, Sources: []sourceInfo{}}
	for _, n := range nodes {
		answer.States[string(n.State)]++
		if !asked.wants(n) {
			continue
		}
		if answer.Matched++; answer.Matched > asked.offset && len(answer.Agents) < asked.limit {
			answer.Agents = append(answer.Agents, agentInfoOf(n))
		}
	}
	if n := len(answer.Agents); n < answer.Matched {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"Showing %d of %d agents: ask for a state, a cluster or a part of the name, or for the next page.", n, answer.Matched)})
	}
	for _, s := range d.sources() {
		info := sourceInfo{Name: s.Name, Found: s.Found, Asking: s.Asking}
		if !s.At.IsZero() {
			info.At = &s.At
		}
		if s.Err != nil {
			info.Error = s.Err.Error()
		}
		notices = append(notices, s.Notices...)
		answer.Sources = append(answer.Sources, info)
	}
	answer.Notices = d.noticeInfos(notices)
	return answer, nil
}

func (a agentsAsked) wants(n live.NodeStatus) bool {
	return (len(a.states) == 0 || slices.Contains(a.states, string(n.State))) &&
		(len(a.clusters) == 0 || slices.Contains(a.clusters, n.Cluster)) &&
		(strings.Contains(strings.ToLower(n.Node), a.search) || strings.Contains(strings.ToLower(n.Address), a.search))
}

func readAgentsAsked(values url.Values) (agentsAsked, error) {
	a := agentsAsked{limit: agentsPage}
	known := []live.State{live.Idle, live.Connecting, live.Connected, live.Lagging, live.Stale, live.Refused, live.Unreachable}
	for key, list := range values {
		switch key {
		case "state":
			a.states = chosen(list)
			for _, s := range a.states {
				if !slices.Contains(known, live.State(s)) {
					return a, fmt.Errorf("state %q is not known: use one of idle, connecting, connected, lagging, stale, refused, unreachable", s)
				}
			}
		case "cluster":
			a.clusters = chosen(list)
		case "search":
			a.search = strings.ToLower(list[0])
		case "limit":
			n, err := strconv.Atoi(list[0])
			if err != nil || n < 1 || n > maxAgentsPage {
				return a, fmt.Errorf("limit %q is out of range: write between 1 and %d", list[0], maxAgentsPage)
			}
			a.limit = n
		case "offset":
			n, err := strconv.Atoi(list[0])
			if err != nil || n < 0 {
				return a, fmt.Errorf("offset %q is not a number of agents to pass over", list[0])
			}
			a.offset = n
		default:
			return a, fmt.Errorf("parameter %q is not known: use state, cluster, search, limit and offset", key)
		}
	}
	return a, nil
}
