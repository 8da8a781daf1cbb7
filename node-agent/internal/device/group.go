package device

import "slices"

// Group is a set of metrics that are read together, and that are selected and timed as one.
type Group uint8

// The groups.
const (
	GroupUtilization Group = iota
	GroupEngines
	GroupProfiling
	GroupPipes
	GroupMemory
	GroupBAR1
	GroupProcesses
	GroupPower
	GroupModulePower
	GroupLimits
	GroupTemperature
	GroupThresholds
	GroupClocks
	GroupClockLimits
	GroupThrottling
	GroupPCIe
	GroupPCIeLink
	GroupNVLink
	GroupNVLinkState
	GroupNVLinkLinks
	GroupECC
	GroupECCLocations
	GroupRemapping
	GroupRemapHistogram
	GroupHealth
	GroupFabric
	GroupModes
	GroupFan
	GroupC2C

	NumGroups
)

// Class is how often a group is read.
type Class string

// The classes, the most frequent first.
const (
	Fast   Class = "fast"
	Normal Class = "normal"
	Slow   Class = "slow"
	Static Class = "static" // once, and again when the devices change or the class's long interval is over
)

// Classes are all classes.
func Classes() []Class { return []Class{Fast, Normal, Slow, Static} }

// Profile is a choice of groups.
type Profile string

// The profiles, each with all of the one before it.
const (
	Lean     Profile = "lean"     // what alerts and the overview need
	Standard Profile = "standard" // what the bundled dashboards need
	Deep     Profile = "deep"     // everything, at the price of several times the series
)

// Profiles are all profiles, the smallest first.
func Profiles() []Profile { return []Profile{Lean, Standard, Deep} }

var groups = [NumGroups]struct {
	name        string
	class       Class
	profile     Profile // the smallest that has it
	perInstance bool    // measured on MIG instances too
}{
	GroupUtilization:    {"utilization", Fast, Lean, false},
	GroupEngines:        {"engines", Normal, Standard, false},
	GroupProfiling:      {"profiling", Fast, Lean, true},
	GroupPipes:          {"pipes", Fast, Standard, true},
	GroupMemory:         {"memory", Fast, Lean, true},
	GroupBAR1:           {"bar1", Slow, Standard, true},
	GroupProcesses:      {"processes", Normal, Standard, true},
	GroupPower:          {"power", Fast, Lean, false},
	GroupModulePower:    {"module_power", Normal, Standard, false},
	GroupLimits:         {"limits", Slow, Lean, false},
	GroupTemperature:    {"temperature", Fast, Lean, false},
	GroupThresholds:     {"thresholds", Static, Standard, false},
	GroupClocks:         {"clocks", Fast, Lean, false},
	GroupClockLimits:    {"clock_limits", Slow, Lean, false},
	GroupThrottling:     {"throttling", Normal, Lean, false},
	GroupPCIe:           {"pcie", Fast, Standard, false},
	GroupPCIeLink:       {"pcie_link", Normal, Lean, false},
	GroupNVLink:         {"nvlink", Fast, Standard, false},
	GroupNVLinkState:    {"nvlink_state", Normal, Standard, false},
	GroupNVLinkLinks:    {"nvlink_links", Slow, Deep, false},
	GroupECC:            {"ecc", Normal, Lean, false},
	GroupECCLocations:   {"ecc_locations", Slow, Deep, false},
	GroupRemapping:      {"remapping", Slow, Lean, false},
	GroupRemapHistogram: {"remap_histogram", Slow, Deep, false},
	GroupHealth:         {"health", Normal, Lean, false},
	GroupFabric:         {"fabric", Normal, Standard, false},
	GroupModes:          {"modes", Slow, Standard, false},
	GroupFan:            {"fan", Normal, Lean, false},
	GroupC2C:            {"c2c", Slow, Standard, false},
}

// String is the group's name in configuration and labels.
func (g Group) String() string {
	if g >= NumGroups {
		return "unknown group"
	}
	return groups[g].name
}

// Class is how often the group is read when nothing else is configured.
func (g Group) Class() Class { return groups[g].class }

// Profile is the smallest profile that has the group.
func (g Group) Profile() Profile { return groups[g].profile }

// PerInstance reports whether the group is measured on MIG instances too.
func (g Group) PerInstance() bool { return groups[g].perInstance }

// GroupNamed finds a group.
func GroupNamed(name string) (Group, bool) {
	for g := range NumGroups {
		if groups[g].name == name {
			return g, true
		}
	}
	return 0, false
}

// Groups is a set of groups.
type Groups uint64

// AllGroups has every group.
const AllGroups Groups = 1<<NumGroups - 1

// GroupsOf is a set of some groups.
func GroupsOf(list ...Group) Groups {
	var s Groups
	for _, g := range list {
		s |= 1 << g
	}
	return s
}

// ProfileGroups are the groups of a profile.
func ProfileGroups(p Profile) Groups {
	var s Groups
	for g := range NumGroups {
		if slices.Index(Profiles(), groups[g].profile) <= slices.Index(Profiles(), p) {
			s |= 1 << g
		}
	}
	return s
}

// Has reports whether the set has a group.
func (s Groups) Has(g Group) bool { return s>>g&1 == 1 }

// Any reports whether the set has one of others.
func (s Groups) Any(others ...Group) bool { return s&GroupsOf(others...) != 0 }
