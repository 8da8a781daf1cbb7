package stragglers

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// The ids of verdicts and reasons. A job's id is one of the first eight.
const (
	Straggler = "straggler" // somebody is slower than the peers, now and for long enough
	Past      = "past"      // somebody was, and is not any more
	Momentary = "momentary" // somebody was, for moments
	Uneven    = "uneven"    // so many are slow that nobody can be named
	Slowed    = "slowed"    // all are, and were faster before
	Even      = "even"
	Alone     = "alone" // one rank has no peers
	Unknown   = "unknown"

	LowClock  = "low-clock" // a GPU is slower than its peers, and its rank keeps pace all the same
	NoPart    = "no-part"   // GPUs of the job do nothing
	DataBound = "data-bound"
	Exchange  = "exchange-bound"
	Writing   = "checkpoint-bound"
	Goodless  = "goodput"
)

// Input is what there is to judge.
type Input struct {
	Devices   *insight.Devices
	Workloads *insight.Workloads // of the same times; nil when there are none
}

// Job is how it stands with one job.
type Job struct {
	Cluster, Namespace, Name string
	Ranks, Devices           []int // indexes in the grids, by rank and by identity
	Nodes                    int
	GPUs                     *float64 // MIG instances count as their part; nil when not known

	ID         string
	Severity   insight.Severity
	Confidence insight.Confidence
	Text       string           // one sentence for people
	Reasons    []insight.Reason // the worst first
	Missing    []string         // canonical metrics
	Basis      string           // what members were compared by, for people; "" for nothing
	Suspects   []Suspect        // the slowest first; those of now, or of the past when there are none now
	// Skew is, by step of the grid, how much slower than the median the slowest was: 1.1 for a tenth. NaN where nothing could
	// be compared, as in a grid.
	Skew []float64
	// LostGPUHours is the time that the job's GPUs waited for slow ones in the range, nil when it cannot be known.
	LostGPUHours *float64
	LostAssumed  string // what that rests on
	Idle         []int  // devices that take no part

	Bubble     Bubble
	Exchange   Share // of a step in collectives
	Data       Share // of a step that waits for data
	Checkpoint Share // of time
	Goodput    Goodput
}

// Suspect is a rank, GPU or node that is slower than its peers.
type Suspect struct {
	Kind     string // "rank", "gpu" or "node"
	Node     string
	Rank     string
	Workload int // in the grid, -1 for none
	Device   int // in the grid, -1 when it is not known
	Members  int // ranks or GPUs of the node that are slow; 1 for others
	// Ratio is how much slower than the median, 1.3 for three tenths, by the first of its evidence; Score is its inverse, as NVIDIA's
	// resiliency extension has it.
	Ratio, Score float64
	Z            float64 // robust, at the end; 0 where there are only two to compare
	Since        int64   // Unix milliseconds
	Until        int64   // 0 while it goes on
	Evidence     []insight.Evidence

	hardware, slowClock bool // the GPU differs as well
	deviceRows          []int
}

// pass is one run of Judge.
type pass struct {
	devices   *insight.Devices
	workloads *insight.Workloads
	gpus      table
	work      table
	limits    Limits
	options   Options
	steps     int
	step      time.Duration
}

// Judge looks at all jobs, the worst first. Limits and options must be valid; those of the options have been put over the
// others by [Options.Resolve].
func Judge(in Input, limits Limits, options Options) []Job {
	if in.Devices == nil && in.Workloads == nil {
		return nil
	}
	p := &pass{devices: in.Devices, workloads: in.Workloads, limits: limits, options: options}
	if p.devices == nil {
		p.devices = insight.NewGrid[insight.Subject](time.Time{}, time.Time{}, in.Workloads.Step, nil)
		p.devices.Times = in.Workloads.Times
	}
	p.steps, p.step = len(p.devices.Times), p.devices.Step
	p.gpus = tableOf(p.devices, Fields())
	if p.workloads != nil && len(p.workloads.Times) == p.steps {
		p.work = tableOf(p.workloads, WorkloadFields())
	} else {
		p.workloads = nil
	}
	teams := p.teams()
	jobs := make([]Job, 0, len(teams))
	for _, t := range teams {
		jobs = append(jobs, p.judge(t))
	}
	sortJobs(jobs)
	return jobs
}

// judge looks at one job.
func (p *pass) judge(t *team) Job {
	j := Job{
		Cluster: t.key.cluster, Namespace: t.key.namespace, Name: t.key.name, Ranks: t.ranks, Devices: t.devices,
		ID: Unknown, Severity: insight.Unknown,
	}
	c := &trial{pass: p, team: t, job: &j}
	c.locate()
	c.count()
	ranks := c.compareRanks()
	hardware := c.compareDevices()
	c.conclude(ranks, hardware)
	c.shares()
	c.goodput()
	c.settle()
	return j
}

// trial is one job while it is judged.
type trial struct {
	*pass
	*team

	job     *Job
	nodes   []string // of ranks
	ofNode  map[string]int
	missing []string
}

func (c *trial) need(metric string) { c.missing = append(c.missing, metric) }

func (c *trial) find(r insight.Reason) {
	r.Action.Runbook = runbookOf(r.ID)
	c.job.Reasons = append(c.job.Reasons, r)
}

// runbookOf is the page that says what to do about a reason.
func runbookOf(id string) string {
	switch id {
	case NoPart:
		return "idle-allocated"
	case DataBound:
		return "bottleneck-input"
	case Exchange:
		return "bottleneck-interconnect"
	default:
		return "straggler"
	}
}

func (p *pass) time(step int) int64 { return p.devices.Times[step] }
