package demo

// State is what a running stack tells tests about itself, in the file that DEMO_STATE names.
type State struct {
	URL       string         `json:"url"`
	Processes []StateProcess `json:"processes"`
}

// StateProcess is one process of a running stack.
type StateProcess struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	Log  string `json:"log"`
	URL  string `json:"url"`
}

// StateFile is where the stack's State is.
func (s *Stack) StateFile() string { return s.folder.State() }

func (s *Stack) writeState() error {
	urls := map[string]string{s.ui: s.URL(), "replay": url(s.topology.ReplayPort)}
	for _, c := range s.topology.Clusters {
		urls["prometheus-"+c.Name] = url(c.PrometheusPort)
		for _, n := range c.Nodes {
			urls["agent-"+n.Name] = url(n.Port)
		}
	}
	state := State{URL: s.URL()}
	for _, p := range s.supervisor.Processes() {
		state.Processes = append(state.Processes, StateProcess{Name: p.Name, PID: p.PID, Log: p.Log, URL: urls[p.Name]})
	}
	return writeJSON(s.folder.State(), state)
}
