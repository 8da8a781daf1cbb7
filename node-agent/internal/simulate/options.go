package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Profile is what a node is used for.
type Profile string

// The profiles.
const (
	Training  Profile = "training"  // one job over all boards
	Inference Profile = "inference" // a model server on each board
	Mixed     Profile = "mixed"     // some of each, and boards that are allocated but idle
	Idle      Profile = "idle"      // nothing runs
)

// Profiles lists them.
func Profiles() []string {
	return []string{string(Mixed), string(Training), string(Inference), string(Idle)}
}

// Fault is something that goes wrong on a node now and then.
type Fault string

// The faults.
const (
	Straggler Fault = "straggler" // one board of a training job is always hot and therefore slow
	Thermal   Fault = "thermal"   // one board's airflow is blocked for a while, every few hours
	ECC       Fault = "ecc"       // one board's memory wears out
	XIDs      Fault = "xid"       // applications crash
	Lost      Fault = "lost"      // one board falls off the bus once between two reboots
)

// Faults lists them.
func Faults() []string {
	return []string{string(Straggler), string(Thermal), string(ECC), string(XIDs), string(Lost)}
}

// Options say which node to simulate. The same options give the same node at the same time, always.
type Options struct {
	Seed    uint64
	Node    string
	GPUs    int
	Model   Model
	MIG     []string // profiles every board is split into, empty for whole boards
	Profile Profile
	Faults  []Fault
	// Window is the time over which activity is averaged, in seconds: the sampling period when that is shorter than a
	// second. 0 means one second.
	Window float64
}

// MaxGPUs is the largest node that can be simulated.
const MaxGPUs = 64

// Validate says what is wrong with the options, naming the flag that sets it.
func (o Options) Validate() error {
	var errs []error
	if o.GPUs < 0 || o.GPUs > MaxGPUs {
		errs = append(errs, fmt.Errorf("--simulate.gpus=%d: must be 0 to %d", o.GPUs, MaxGPUs))
	}
	if !slices.Contains(Profiles(), string(o.Profile)) {
		errs = append(errs, fmt.Errorf("--simulate.profile=%s: must be one of %s", o.Profile, strings.Join(Profiles(), ", ")))
	}
	for _, f := range o.Faults {
		if !slices.Contains(Faults(), string(f)) {
			errs = append(errs, fmt.Errorf("--simulate.fault=%s: must be one of %s", f, strings.Join(Faults(), ", ")))
		}
	}
	if len(o.MIG) > 0 {
		if _, err := split(o.Model, o.MIG); err != nil {
			errs = append(errs, fmt.Errorf("--simulate.mig=%s: %w", strings.Join(o.MIG, ","), err))
		}
	}
	return errors.Join(errs...)
}
