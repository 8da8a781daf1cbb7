package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
)

// Codes with rules of their own.
const (
	xidGraphics      = 13
	xidPageFault     = 31
	xidStopped       = 43
	xidCleanup       = 45
	xidDoubleBit     = 48
	xidRemap         = 63
	xidRemapFailed   = 64
	xidOffTheBus     = 79
	xidContained     = 94
	xidRecovery      = 154
	xidDRAM, xidSRAM = 171, 172
)

// Lines of one crash come within a minute; so do the same faults of all GPUs of a job.
const oneCrash = 60 * 1000

// sighting is a code on a GPU at a time.
type sighting struct {
	at  int64
	gpu gpu.Identity
}

// occurrence is all of one code that a GPU had.
type occurrence struct {
	code         uint64
	known        bool
	xid          gpu.XID
	first, last  int64
	count        int // crashes, not lines
	alone        int // of them those that no other GPU had at the same time
	detail       string
	fatal        bool // the kernel's line says so, of NVLink 5
	explains     []string
	qualified    string
	inferred     bool // from metrics, not from an event
	unknownStart bool // it was there before the range
}

// sortEvents keeps those of GPUs, by board and by time, and notes when each code was seen where.
func (p *pass) sortEvents(events []gpu.Event) {
	p.events = make(map[gpu.Identity][]gpu.Event, min(len(events), len(p.grid.Subjects)))
	p.shared = make(map[uint64][]sighting)
	// The grid ends with its last whole step; what happened since then is not to wait for the next.
	from, to := p.end()-int64(p.limits.XIDHours*3600*1000), p.end()+2*p.step.Milliseconds()
	for _, e := range events {
		id := e.Device.Parent()
		if at := e.Time.UnixMilli(); (id.UUID == "" && e.Kind != gpu.KindXID) || at < from || at > to || (e.Kind == gpu.KindXID && e.XID == 0) {
			continue
		}
		switch e.Kind {
		case gpu.KindXID:
			if id.UUID != "" {
				p.shared[e.XID] = append(p.shared[e.XID], sighting{e.Time.UnixMilli(), id})
			}
		case gpu.KindLost, gpu.KindReturned, gpu.KindUnavailable:
		default:
			continue
		}
		p.events[id] = append(p.events[id], e)
	}
	for _, list := range p.events {
		slices.SortStableFunc(list, func(a, b gpu.Event) int { return a.Time.Compare(b.Time) })
	}
	for _, list := range p.shared {
		slices.SortFunc(list, func(a, b sighting) int { return cmp.Compare(a.at, b.at) })
	}
}

func (b *board) eventsOf() []gpu.Event {
	if len(b.pass.events) == 0 {
		return nil
	}
	return b.pass.events[b.id]
}

// elsewhere reports whether another GPU of the cluster had the same code within a minute: then it is the job's fault.
func (p *pass) elsewhere(code uint64, id gpu.Identity, at int64) bool {
	list := p.shared[code]
	i, _ := slices.BinarySearchFunc(list, at-oneCrash, func(s sighting, t int64) int { return cmp.Compare(s.at, t) })
	for ; i < len(list) && list[i].at <= at+oneCrash; i++ {
		if list[i].gpu != id && list[i].gpu.Cluster == id.Cluster {
			return true
		}
	}
	return false
}

// findXIDs gathers what the events tell, and what metrics tell where there are no events.
func (b *board) findXIDs() {
	for _, e := range b.eventsOf() {
		if e.Kind == gpu.KindXID {
			b.occurred(e.XID, e.Time.UnixMilli(), e.Detail, b.id, false)
		}
	}
	b.latchedXIDs(b.id)
	slices.SortStableFunc(b.xids, func(x, y occurrence) int { return cmp.Compare(x.first, y.first) })
}

func (b *board) occurred(code uint64, at int64, detail string, id gpu.Identity, inferred bool) {
	i := slices.IndexFunc(b.xids, func(o occurrence) bool { return o.code == code })
	if i < 0 {
		o := occurrence{code: code, first: at, inferred: inferred}
		o.xid, o.known = gpu.LookupXID(code)
		o.last = math.MinInt64 / 2
		b.xids, i = append(b.xids, o), len(b.xids)
	}
	o := &b.xids[i]
	if at-o.last > oneCrash {
		o.count++
		if !b.elsewhere(code, id, at) {
			o.alone++
		}
	}
	o.last = at
	if detail != "" && len(detail) <= 1000 {
		o.detail = detail
	}
	o.fatal = o.fatal || (strings.Contains(detail, "Fatal") && !strings.Contains(detail, "Nonfatal"))
}

// latchedXIDs reads the metric that keeps the last code. Only its changes say that something happened; a code that stands
// there from the beginning may be weeks old.
func (b *board) latchedXIDs(id gpu.Identity) {
	values := b.values[xidLast]
	before, stood := math.NaN(), uint64(0)
	for i, v := range values {
		if math.IsNaN(v) || v < 0 || v > 1<<32 || v != math.Trunc(v) {
			continue
		}
		// A series that appears while the GPU was measured before is news too: exporters leave it out until the first XID.
		appeared := math.IsNaN(before) && i > 0 && (!math.IsNaN(insight.At(b.values[temperature], i-1)) || !math.IsNaN(insight.At(b.values[power], i-1)))
		switch {
		case v == before:
		case v != 0 && (appeared || !math.IsNaN(before)):
			if !b.told(uint64(v), b.times[i]) {
				b.occurred(uint64(v), b.times[i], "", id, true)
			}
		case v != 0:
			stood = uint64(v)
		}
		before = v
	}
	if now, _ := last(values); stood > 0 && now == float64(stood) && !slices.ContainsFunc(b.xids, func(o occurrence) bool { return o.code == stood }) {
		b.occurred(stood, b.times[0], "", id, true)
		b.xids[len(b.xids)-1].unknownStart = true
	}
}

// told reports whether an event told of a code about the time that a metric changed.
func (b *board) told(code uint64, at int64) bool {
	near := 2*b.step.Milliseconds() + oneCrash
	return slices.ContainsFunc(b.eventsOf(), func(e gpu.Event) bool {
		t := e.Time.UnixMilli()
		return e.Kind == gpu.KindXID && e.XID == code && t >= at-near && t <= at+near
	})
}

// xidReasons judges the codes after folding those that follow others.
func (b *board) xidReasons() {
	if len(b.xids) == 0 {
		return
	}
	b.foldXIDs()
	fatal := 0
	for _, o := range b.xids {
		if o.known && grave(o.xid) && !o.unknownStart {
			fatal += o.count
		}
	}
	for i := range b.xids {
		r := b.xidReason(&b.xids[i])
		if fatal >= b.limits.XIDFatal && r.Severity == insight.Critical {
			r.Text += fmt.Sprintf(" It is one of %d such errors in %g hours.", fatal, b.limits.XIDHours)
			r.Action.Text += " Open a case with NVIDIA or the vendor: a reset will not last."
		}
		b.reasons = append(b.reasons, r)
	}
}

// foldXIDs drops codes that others explain: 45 and 43 behind another, 63 before 64, 171 and 172 with 48, 154 behind what
// changed the recovery action.
func (b *board) foldXIDs() {
	follow := minutes(b.limits.XIDFollowMinutes).Milliseconds()
	cause := func(o occurrence, near int64, is func(occurrence) bool) *occurrence {
		for i := range b.xids {
			c := &b.xids[i]
			if c.code != o.code && !c.unknownStart && c.first <= o.last && c.last >= o.first-near && is(*c) {
				return c
			}
		}
		return nil
	}
	var kept []occurrence
	dropped := make([]bool, len(b.xids))
	for i, o := range b.xids {
		if o.unknownStart {
			continue
		}
		var root *occurrence
		switch o.code {
		case xidCleanup:
			root = cause(o, follow, func(c occurrence) bool { return c.code != xidRecovery && c.code != xidStopped })
			if root == nil {
				root = cause(o, follow, func(c occurrence) bool { return c.code == xidStopped })
			}
		case xidStopped:
			root = cause(o, follow, func(c occurrence) bool { return c.code != xidRecovery && c.code != xidCleanup })
		case xidRecovery:
			root = cause(o, follow, func(c occurrence) bool { return c.code != xidStopped && c.code != xidCleanup })
		case xidRemap:
			if j := slices.IndexFunc(b.xids, func(c occurrence) bool { return c.code == xidRemapFailed && c.last >= o.first }); j >= 0 {
				root = &b.xids[j]
			}
		case xidDRAM, xidSRAM:
			if j := slices.IndexFunc(b.xids, func(c occurrence) bool {
				return c.code == xidDoubleBit && c.first-follow <= o.last && o.first <= c.last+follow
			}); j >= 0 {
				root = &b.xids[j]
				root.qualified = map[uint64]string{xidDRAM: "The error is in DRAM (XID 171).", xidSRAM: "The error is in SRAM (XID 172)."}[o.code]
			}
		}
		if root != nil {
			dropped[i] = true
			root.explains = append(root.explains, fmt.Sprintf("XID %d", o.code))
		}
	}
	for i, o := range b.xids {
		if !dropped[i] {
			kept = append(kept, o)
		}
	}
	b.xids = kept
}

// grave reports whether a GPU must be reset, or its node be rebooted, by NVIDIA's word.
func grave(x gpu.XID) bool {
	switch x.ImmediateAction {
	case "RESET_GPU", "RESTART_BM", "RESTART_VM", "WORKFLOW_XID_48", "WORKFLOW_NVLINK_ERR":
		return true
	default:
		return false
	}
}

// xidReason is what a code means for the GPU.
func (b *board) xidReason(o *occurrence) insight.Reason {
	r := insight.Reason{
		ID: fmt.Sprintf("xid-%d", o.code), Text: gpu.XIDText(o.code) + ".", Since: o.first,
		Evidence: []insight.Evidence{{Metric: fmt.Sprintf("XID %d", o.code), Value: float64(o.count), Unit: gpu.Count, Limit: math.NaN(), Above: true, Text: b.seenText(o)}},
		Action:   insight.Action{Who: o.xid.Owner, NVIDIA: o.xid.ImmediateAction, Runbook: runbook.ForXID(o.code)},
	}
	r.Severity, r.Action.Text = b.xidSeverity(o)
	if r.Severity == insight.Warning && o.known && o.xid.Owner != gpu.XIDOperator && (o.code != xidContained || o.alone >= b.limits.XIDRepeats) {
		r.Action.Who = gpu.XIDOperator
	}
	if !o.known {
		r.Action.Who = gpu.XIDOperator
	}
	if o.qualified != "" {
		r.Text += " " + o.qualified
	}
	if len(o.explains) > 0 {
		r.Text += " It explains: " + strings.Join(o.explains, ", ") + "."
	}
	switch {
	case o.unknownStart:
		r.Severity, r.Since = min(r.Severity, insight.Info), 0
		if !o.known {
			r.Severity = insight.Unknown
		}
		r.Text += " It happened before the range, nobody knows when."
	case r.Severity.Rank() >= insight.Warning.Rank() && b.recovered(o):
		r.Severity = insight.Info
		r.Text += " The GPU has recovered since."
	}
	return r
}

func (b *board) seenText(o *occurrence) string {
	times := "once"
	if o.count > 1 {
		times = fmt.Sprintf("%d times", o.count)
	}
	text := fmt.Sprintf("XID %d %s", o.code, times)
	if o.inferred {
		text += ", by the metric of the last XID"
	}
	if o.detail != "" {
		text += ": " + o.detail
	}
	return text
}

// xidSeverity is by NVIDIA's immediate action; faults of applications concern the operator only when one GPU alone has them
// again and again.
func (b *board) xidSeverity(o *occurrence) (insight.Severity, string) {
	x := o.xid
	repeated := o.alone >= b.limits.XIDRepeats
	switch {
	case !o.known:
		return insight.Unknown, "Look the code up in NVIDIA's catalogue of XIDs; nothing is assumed of it here."
	case o.code == xidOffTheBus:
		return insight.Critical, "Drain the node, collect nvidia-bug-report.sh, power-cycle it. The second time have the hardware inspected."
	case o.code == xidDoubleBit:
		return insight.Critical, "Drain the GPU and reset it; see whether XID 63 or 64 follows: 64 means that the board must be returned."
	case x.ImmediateAction == "RESTART_BM":
		return insight.Critical, "Drain the node and reboot it."
	case x.ImmediateAction == "RESTART_VM":
		return insight.Critical, "Restart the virtual machine."
	case grave(x):
		return insight.Critical, "Drain the GPU and reset it."
	case o.code == xidContained && repeated:
		return insight.Warning, "Drain the GPU and run dcgmi diag -r 3: contained memory errors come back."
	case o.code == xidContained:
		return insight.Warning, "Restart the application. The GPU goes on, its memory is remapped at the next reset."
	case (o.code == xidGraphics || o.code == xidPageFault) && repeated:
		return insight.Warning, "Run dcgmi diag -r 3 (EUD) on this GPU: the same fault comes back on it and on no other."
	case strings.HasPrefix(x.ImmediateAction, "WORKFLOW_NVLINK5") && o.fatal:
		return insight.Critical, "Drain the node; follow NVIDIA's workflow for errors of NVLink 5, mostly a reset of the GPU."
	case strings.HasPrefix(x.ImmediateAction, "WORKFLOW_NVLINK5"):
		return insight.Warning, "Follow NVIDIA's workflow for errors of NVLink 5; reset the GPU when they come back."
	case o.code == xidRecovery:
		if v, found := b.at(recovery); found && v == 0 {
			return insight.Info, "Nothing: the driver asks for nothing any more."
		}
		return insight.Warning, "Read the recovery action that the driver asks for (nvidia-smi -q), and do that."
	case o.code == xidDRAM || o.code == xidSRAM:
		return insight.Warning, "Look for XID 48 in the kernel's log and treat the GPU as if it had one."
	case o.code == xidCleanup:
		return insight.Info, "Nothing, when the application was stopped; with nothing before it restart the fabric manager."
	case x.Owner == gpu.XIDUser:
		return insight.Info, "Restart the application and look for its fault."
	case x.Owner == gpu.XIDInformational:
		return insight.Info, "Nothing by itself."
	case x.ImmediateAction == "CHECK_MECHANICALS":
		return insight.Warning, "Check the power cables of the board."
	case x.ImmediateAction == "UPDATE_SWFW":
		return insight.Warning, "Update the driver and the vGPU software to versions that go together."
	default:
		return insight.Warning, "Open a case with NVIDIA or the vendor; NVIDIA names no step before that."
	}
}

// recovered reports whether something says that a GPU is as before: the agent, or the driver's recovery action that was set
// and is 0 again, or, for one that was off the bus, that it is measured again after a gap.
func (b *board) recovered(o *occurrence) bool {
	if o.unknownStart {
		return false
	}
	for _, e := range b.eventsOf() {
		if e.Kind == gpu.KindReturned && e.Time.UnixMilli() > o.last {
			return true
		}
	}
	from := max(0, b.index(o.last))
	asked := false
	for i := from; i < len(b.values[recovery]); i++ {
		if v := b.values[recovery][i]; v > 0 {
			asked = true
		} else if v == 0 && asked && i >= len(b.times)-1-b.fresh() {
			return true
		}
	}
	if o.code != xidOffTheBus || !b.current(b.seen) {
		return false
	}
	gap := 0
	for i := from; i <= b.seen; i++ {
		if b.measured(i) {
			if gap > 0 && time.Duration(gap)*b.step >= time.Minute {
				return true
			}
			gap = 0
		} else {
			gap++
		}
	}
	return false
}

func (b *board) measured(i int) bool {
	for _, c := range b.alive {
		if !math.IsNaN(insight.At(b.values[c], i)) {
			return true
		}
	}
	return false
}
