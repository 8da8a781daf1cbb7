package health

import (
	"fmt"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Maintenance is why, and until when, nobody is to be bothered with a GPU or a node.
type Maintenance struct {
	ID    string // of Alertmanager's silence; "" for one that the settings announce
	By    string // who said so
	Why   string
	Until int64 // Unix milliseconds; 0 when not known
}

// String is all of it in one line, as in "until 2026-01-05 12:00 UTC, silence 3f2a, by mk: new fans".
func (m *Maintenance) String() string {
	var parts []string
	if m.Until > 0 {
		parts = append(parts, "until "+time.UnixMilli(m.Until).UTC().Format("2006-01-02 15:04 MST"))
	}
	if m.ID != "" {
		parts = append(parts, "silence "+m.ID)
	}
	if m.By != "" {
		parts = append(parts, "by "+m.By)
	}
	text := strings.Join(parts, ", ")
	switch {
	case text == "":
		return m.Why
	case m.Why == "":
		return text
	}
	return fmt.Sprintf("%s: %s", text, m.Why)
}

// silenced is what verdicts say of a maintenance, "" for none.
func (m *Maintenance) silenced() string {
	if m == nil {
		return ""
	}
	return "maintenance: " + m.String()
}

// maintenanceOf is that of a board, or else of its node.
func (p *pass) maintenanceOf(board gpu.Identity, n *nodeState) *Maintenance {
	if m, found := p.maintained[board]; found {
		return &m
	}
	return n.Maintenance
}

// inMaintenance is what all of several nodes share; nil when somebody has to see to one of them.
func inMaintenance(group []*nodeState) *Maintenance {
	for _, n := range group {
		if n.Maintenance == nil {
			return nil
		}
	}
	return group[0].Maintenance
}
