package export

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Exporter writes the newest frame of a store as Prometheus text. It is safe for concurrent use.
type Exporter struct {
	store *snapshot.Store
	node  snapshot.Node
	xids  catalog.Metric
	info  []byte // warpwatch_agent_info, whole

	mu     sync.Mutex
	layout *layout
	status *snapshot.Status // what states says
	states []byte
}

// Identity is how the agent can be reached, for whoever reads its metrics.
type Identity struct {
	Address string // host:port of the stream, "" when it is the scraped address
	Scheme  string // "http" or "https"
}

// New prepares an exporter.
func New(store *snapshot.Store, node snapshot.Node, id Identity, c *catalog.Catalog) (*Exporter, error) {
	xids, ok := xidRow(c)
	if !ok {
		return nil, errors.New("gpu_xid_errors_total is not in the catalogue")
	}
	const name = "warpwatch_agent_info"
	info := header(name, "The agent and where its live stream is; an empty address is the address of the scrape. Always 1.", "gauge")
	info = append(info, name+"{"+nodeLabels(node)+label("version", node.Version)+label("address", id.Address)+
		label("scheme", id.Scheme)+label("source", node.Source)+"} 1\n"...)
	return &Exporter{store: store, node: node, xids: xids, info: info}, nil
}

// staleAfter is how old the newest frame may be: after that its readings say nothing about now.
func (e *Exporter) staleAfter() time.Duration { return max(10*time.Second, 5*e.node.Period) }

// Append writes the text after dst. A reading that was not taken has no line.
func (e *Exporter) Append(dst []byte, now time.Time) []byte {
	dst = append(dst, e.info...)
	f := e.store.Newest()
	if f == nil {
		return dst
	}
	l, states := e.prepared(f)
	dst = append(dst, l.info...)
	if now.Sub(f.Time) <= e.staleAfter() {
		dst = appendReadings(dst, l, f)
	}
	return append(dst, states...)
}

// prepared is the text that changes seldom: the layout of the frame's schema, and everything about its status.
func (e *Exporter) prepared(f *snapshot.Frame) (*layout, []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.layout == nil || e.layout.schema != f.Schema {
		e.layout, e.status = newLayout(f.Schema), nil
	}
	if e.status != f.Status {
		e.status = f.Status
		e.states = e.appendStatus(e.appendXIDs(nil, e.layout, f.Status), e.layout, f.Status)
	}
	return e.layout, e.states
}

func appendReadings(dst []byte, l *layout, f *snapshot.Frame) []byte {
	for i := range l.families {
		family := &l.families[i]
		started := false
		for j := range family.series {
			s := &family.series[j]
			r := f.Readings[s.column]
			if !r.OK() {
				continue
			}
			if !started {
				dst, started = append(dst, family.header...), true
			}
			dst = append(dst, s.prefix...)
			dst = append(strconv.AppendFloat(dst, r.Value, 'g', -1, 64), '\n')
		}
	}
	return dst
}

func (e *Exporter) appendXIDs(dst []byte, l *layout, s *snapshot.Status) []byte {
	started := false
	for _, b := range s.Boards {
		for _, x := range b.XIDs {
			if !started {
				dst, started = append(dst, header(e.xids.Name, e.xids.Help, string(e.xids.Kind))...), true
			}
			dst = append(dst, e.xids.Name+"{"+l.labels[b.Device.UUID]+label("xid", strconv.FormatUint(x.Code, 10))+"} "...)
			dst = append(strconv.AppendUint(dst, x.Count, 10), '\n')
		}
	}
	return dst
}

// appendStatus writes one series for each state something can be in, 1 for the one it is in.
func (e *Exporter) appendStatus(dst []byte, l *layout, s *snapshot.Status) []byte {
	const source, board = "warpwatch_agent_source_state", "warpwatch_agent_device_state"
	dst = append(dst, header(source, "How the source of the readings is: 1 for the state it is in.", "gauge")...)
	for _, state := range snapshot.SourceStates() {
		dst = appendState(dst, source+"{"+nodeLabels(e.node), state, s.Source.State)
	}
	if len(s.Boards) > 0 {
		dst = append(dst, header(board, "How a GPU is: 1 for the state it is in.", "gauge")...)
	}
	for _, b := range s.Boards {
		for _, state := range snapshot.BoardStates() {
			dst = appendState(dst, board+"{"+l.labels[b.Device.UUID], state, b.Condition.State)
		}
	}
	return dst
}

func appendState(dst []byte, prefix string, state, is snapshot.State) []byte {
	dst = append(dst, prefix+label("state", string(state))+"} "...)
	if state == is {
		return append(dst, "1\n"...)
	}
	return append(dst, "0\n"...)
}
