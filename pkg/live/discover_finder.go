package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Source is one way to find agents. What it answered last counts until it answers again.
type Source struct {
	Name string // as it stands in messages: "prometheus", "static", "dnssrv+_agents._tcp.example.com"
	// Every is how often it is asked while somebody looks; 0 for one whose answer never changes.
	Every time.Duration
	// Find answers with the agents of now. Its notices tell what is missing though it did answer. It ends with ctx.
	Find func(ctx context.Context) ([]Target, []gpu.Notice, error)
}

// SourceStatus is what is known about a source.
type SourceStatus struct {
	Name    string
	Found   int       // agents, by its last good answer
	At      time.Time // of that answer; zero before the first
	Err     error     // why it did not answer since; nil when it did
	Notices []gpu.Notice
	Asking  bool // a question is under way
}

// Limits of finding.
const (
	findGrace  = 2 * time.Second  // how long agents that are known wait for sources that have not answered
	findLimit  = 20 * time.Second // of one question
	maxTargets = 25_000           // over all sources
)

// Finder asks several sources, each at its own pace, and merges what they know. A source that fails or hangs takes
// nothing away: the agents of the others are there, and so are those that it named before.
type Finder struct {
	changed chan struct{}

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	sources []*sourceState
	step    chan struct{} // closed and replaced at each answer
}

type sourceState struct {
	Source
	targets []Target
	notices []gpu.Notice
	err     error
	at      time.Time // of the last good answer
	asked   time.Time
	asking  bool
	missed  bool // somebody went on without the answer under way
}

// NewFinder makes a finder. Earlier sources win over later ones where they contradict each other. It asks nobody until
// [Finder.Targets] is called.
func NewFinder(sources []Source) *Finder {
	f := &Finder{changed: make(chan struct{}, 1), step: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	for _, s := range sources {
		f.sources = append(f.sources, &sourceState{Source: s})
	}
	return f
}

// Close ends the questions under way, and returns when nothing of the finder runs any more.
func (f *Finder) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.running.Wait()
}

// Changed gets a value when a source has answered after Targets went on without it.
func (f *Finder) Changed() <-chan struct{} { return f.changed }

// Pace is how often Targets should be called: as often as the source that is asked most often; 0 when none is asked twice.
func (f *Finder) Pace() time.Duration {
	var pace time.Duration
	for _, s := range f.sources {
		if s.Every > 0 && (pace == 0 || s.Every < pace) {
			pace = s.Every
		}
	}
	return pace
}

// Targets asks the sources whose time has come, and lists the agents of all. It waits for all while no agent is known,
// and a short time for the last when some are. The error is that no agent is known and not every source could be asked.
func (f *Finder) Targets(ctx context.Context) ([]Target, []gpu.Notice, error) {
	f.mu.Lock()
	for _, s := range f.sources {
		f.ask(s)
	}
	f.mu.Unlock()
	grace := time.NewTimer(findGrace)
	defer grace.Stop()
	for late := false; ; {
		pending, known, step := f.progress()
		if !pending || late && known || ctx.Err() != nil {
			break
		}
		select {
		case <-step:
		case <-grace.C:
			late = true
		case <-ctx.Done():
		}
	}
	return f.answer()
}

// Sources says how it stands with each, in their order.
func (f *Finder) Sources() []SourceStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]SourceStatus, len(f.sources))
	for i, s := range f.sources {
		list[i] = SourceStatus{Name: s.Name, Found: len(s.targets), At: s.at, Err: s.err, Notices: slices.Clone(s.notices), Asking: s.asking}
	}
	return list
}

func (f *Finder) progress() (pending, known bool, step <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sources {
		pending = pending || s.asking
		known = known || len(s.targets) > 0
	}
	return pending, known, f.step
}

// ask asks a source when it is time. The caller holds mu.
func (f *Finder) ask(s *sourceState) {
	if s.asking || f.closed || !s.due() {
		return
	}
	s.asking, s.asked = true, time.Now()
	f.running.Go(func() {
		ctx, cancel := context.WithTimeout(f.ctx, findLimit)
		defer cancel()
		targets, notices, err := s.Find(ctx)
		if err != nil && ctx.Err() != nil && f.ctx.Err() == nil {
			err = fmt.Errorf("no answer within %s", findLimit)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		s.asking, s.err = false, err
		if err == nil {
			s.targets, s.notices, s.at = targets, notices, time.Now()
		}
		if s.missed {
			s.missed = false
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
		close(f.step)
		f.step = make(chan struct{})
	})
}

// due reports whether to ask again. Who is late by a little is not made to wait for another turn.
func (s *sourceState) due() bool {
	if s.asked.IsZero() {
		return true
	}
	if s.Every == 0 && s.err == nil {
		return false
	}
	every := s.Every
	if s.err != nil || len(s.targets) == 0 || warns(s.notices) {
		every = min(cmp.Or(every, retryTargets), retryTargets)
	}
	return time.Since(s.asked) >= every-every/10
}

// answer merges what is known.
func (f *Finder) answer() ([]Target, []gpu.Notice, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var notices []gpu.Notice
	var waiting, failed []string
	lists := make([]found, 0, len(f.sources))
	for _, s := range f.sources {
		lists = append(lists, found{s.Name, s.targets})
		notices = append(notices, s.notices...)
		switch {
		case s.asking:
			s.missed = true
			waiting = append(waiting, s.Name)
		case s.err != nil:
			failed = append(failed, fmt.Sprintf("by %s: %s", s.Name, s.err))
			notices = append(notices, s.failure())
		}
	}
	targets := merge(lists)
	if len(targets) > maxTargets {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"%d of %d agents are left out, because a data source reads at most %d: spread them over several data sources.",
			len(targets)-maxTargets, len(targets), maxTargets)})
		targets = targets[:maxTargets]
	}
	switch {
	case len(targets) > 0 && len(waiting) > 0:
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"Agents are still being looked for by %s; those found are added.", list(waiting))})
	case len(targets) > 0:
	case len(failed) > 0:
		return nil, notices, errors.New(list(failed))
	case len(waiting) > 0:
		return nil, notices, fmt.Errorf("by %s: no answer yet", list(waiting))
	case warns(notices):
		// A server that answers though not for all may know agents that are not told.
		return nil, nil, errors.New(strings.TrimSuffix(joined(notices), "."))
	}
	return targets, notices, nil
}

// failure is the notice that a source did not answer.
func (s *sourceState) failure() gpu.Notice {
	text := fmt.Sprintf("Agents cannot be looked for by %s: %s", s.Name, strings.TrimSuffix(s.err.Error(), "."))
	if n := len(s.targets); n > 0 {
		text += fmt.Sprintf("; the %d that it named at %s stay", n, s.at.UTC().Format("15:04:05 UTC"))
	}
	return gpu.Notice{Severity: gpu.Warning, Text: text + "."}
}

func warns(notices []gpu.Notice) bool {
	return slices.ContainsFunc(notices, func(n gpu.Notice) bool { return n.Severity >= gpu.Warning })
}

func joined(notices []gpu.Notice) string {
	texts := make([]string, len(notices))
	for i, n := range notices {
		texts[i] = n.Text
	}
	return strings.Join(texts, " ")
}
