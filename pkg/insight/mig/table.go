package mig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Profile is one way in which a part of a GPU can be an instance.
type Profile struct {
	Name    string // "3g.40gb"; "1g.10gb+me" with the media engines
	Compute int    // slices
	Memory  int    // slices
	Starts  []int  // memory slices at which it may start
	Most    int    // how many a GPU can have
	Media   bool   // it takes the media engines, which one instance may have
}

// Table is what a model can be split into.
type Table struct {
	ComputeSlices, MemorySlices int
	Profiles                    []Profile // the smallest first
}

// family is a table whose profiles have the memory of each model yet to be named.
type family struct {
	compute, memory int
	profiles        []Profile // Name is "1g" or "1g+me"
}

// sevenths are A100 and all data-centre GPUs after it: 7 compute and 8 memory slices. The profile of one compute slice and
// two of memory came with the driver 525.
func sevenths() family {
	single := []int{0, 1, 2, 3, 4, 5, 6}
	return family{compute: 7, memory: 8, profiles: []Profile{
		{Name: "1g", Compute: 1, Memory: 1, Starts: single, Most: 7},
		{Name: "1g+me", Compute: 1, Memory: 1, Starts: single, Most: 1, Media: true},
		{Name: "1g", Compute: 1, Memory: 2, Starts: []int{0, 2, 4, 6}, Most: 4},
		{Name: "2g", Compute: 2, Memory: 2, Starts: []int{0, 2, 4}, Most: 3},
		{Name: "3g", Compute: 3, Memory: 4, Starts: []int{0, 4}, Most: 2},
		{Name: "4g", Compute: 4, Memory: 4, Starts: []int{0}, Most: 1},
		{Name: "7g", Compute: 7, Memory: 8, Starts: []int{0}, Most: 1},
	}}
}

// quarters are A30 and RTX PRO 6000: four slices of both.
func quarters() family {
	return family{compute: 4, memory: 4, profiles: []Profile{
		{Name: "1g", Compute: 1, Memory: 1, Starts: []int{0, 1, 2, 3}, Most: 4},
		{Name: "1g+me", Compute: 1, Memory: 1, Starts: []int{0, 1, 2, 3}, Most: 1, Media: true},
		{Name: "2g", Compute: 2, Memory: 2, Starts: []int{0, 2}, Most: 2},
		{Name: "2g+me", Compute: 2, Memory: 2, Starts: []int{0, 2}, Most: 1, Media: true},
		{Name: "4g", Compute: 4, Memory: 4, Starts: []int{0}, Most: 1},
	}}
}

func halves() family {
	return family{compute: 2, memory: 2, profiles: []Profile{
		{Name: "1g", Compute: 1, Memory: 1, Starts: []int{0, 1}, Most: 2},
		{Name: "2g", Compute: 2, Memory: 2, Starts: []int{0}, Most: 1},
	}}
}

// model is a row of the table of models: words that its name must have, and gigabytes by memory slices as its profiles'
// names have them. The row with the most words counts.
type model struct {
	words     []string
	family    func() family
	gigabytes map[int]int
}

func models() []model {
	return []model{
		{[]string{"A30"}, quarters, map[int]int{1: 6, 2: 12, 4: 24}},
		{[]string{"A100"}, sevenths, map[int]int{1: 5, 2: 10, 4: 20, 8: 40}},
		{[]string{"A100", "80GB"}, sevenths, map[int]int{1: 10, 2: 20, 4: 40, 8: 80}},
		{[]string{"A800", "40GB"}, sevenths, map[int]int{1: 5, 2: 10, 4: 20, 8: 40}},
		{[]string{"A800"}, sevenths, map[int]int{1: 10, 2: 20, 4: 40, 8: 80}},
		{[]string{"H100"}, sevenths, map[int]int{1: 10, 2: 20, 4: 40, 8: 80}},
		{[]string{"H100", "NVL"}, sevenths, map[int]int{1: 12, 2: 24, 4: 47, 8: 94}},
		{[]string{"H100", "64GB"}, sevenths, map[int]int{1: 8, 2: 16, 4: 32, 8: 64}},
		{[]string{"H100", "94GB"}, sevenths, map[int]int{1: 12, 2: 24, 4: 47, 8: 94}},
		{[]string{"H100", "96GB"}, sevenths, map[int]int{1: 12, 2: 24, 4: 48, 8: 96}},
		{[]string{"H800"}, sevenths, map[int]int{1: 10, 2: 20, 4: 40, 8: 80}},
		{[]string{"H20"}, sevenths, map[int]int{1: 12, 2: 24, 4: 48, 8: 96}},
		{[]string{"H200"}, sevenths, map[int]int{1: 18, 2: 35, 4: 71, 8: 141}},
		{[]string{"GH200"}, sevenths, map[int]int{1: 12, 2: 24, 4: 48, 8: 96}},
		{[]string{"GH200", "144G"}, sevenths, map[int]int{1: 18, 2: 36, 4: 72, 8: 144}},
		{[]string{"B200"}, sevenths, map[int]int{1: 23, 2: 45, 4: 90, 8: 180}},
		{[]string{"GB200"}, sevenths, map[int]int{1: 23, 2: 47, 4: 93, 8: 186}},
		{[]string{"B300"}, sevenths, map[int]int{1: 34, 2: 67, 4: 135, 8: 269}},
		{[]string{"RTX", "PRO", "6000"}, quarters, map[int]int{1: 24, 2: 48, 4: 96}},
		{[]string{"RTX", "PRO", "5000"}, halves, map[int]int{1: 24, 2: 48}},
	}
}

// Lookup is what a model can be split into, with the names that its profiles have. For a model that is not in the table it
// is false and what most GPUs can be split into, with names without memory: "3g".
func Lookup(modelName string) (Table, bool) {
	words := strings.Fields(strings.ToUpper(gpu.ShortModel(modelName)))
	var best model
	for _, m := range models() {
		if len(m.words) > len(best.words) && containsAll(words, m.words) {
			best = m
		}
	}
	if best.family == nil {
		f := sevenths()
		return Table{ComputeSlices: f.compute, MemorySlices: f.memory, Profiles: slices.DeleteFunc(f.profiles, func(p Profile) bool {
			return p.Compute == 1 && p.Memory == 2 // its name without memory is that of another
		})}, false
	}
	f := best.family()
	for i, p := range f.profiles {
		name, suffix, _ := strings.Cut(p.Name, "+")
		f.profiles[i].Name = fmt.Sprintf("%s.%dgb", name, best.gigabytes[p.Memory])
		if suffix != "" {
			f.profiles[i].Name += "+" + suffix
		}
	}
	return Table{ComputeSlices: f.compute, MemorySlices: f.memory, Profiles: f.profiles}, true
}

func containsAll(words, wanted []string) bool {
	for _, w := range wanted {
		if !slices.Contains(words, w) {
			return false
		}
	}
	return true
}

// memoryOf is how many memory slices a profile has: of those with as many compute slices and media engines the one whose
// memory is nearest.
func (t Table) memoryOf(s Shape) int {
	best, distance := min(s.Compute, t.MemorySlices), -1
	for _, p := range t.Profiles {
		if p.Compute != s.Compute {
			continue
		}
		memory := 0
		if named, err := Parse(p.Name); err == nil {
			memory = named.Gigabytes
		}
		if off := abs(memory - s.Gigabytes); distance < 0 || off < distance {
			best, distance = p.Memory, off
		}
	}
	return best
}

// profileOf is the row of the table that an instance's profile is, false when it is none.
func (t Table) profileOf(name string) (Profile, bool) {
	s, err := Parse(name)
	if err != nil {
		return Profile{}, false
	}
	memory, media := t.memoryOf(s), s.Suffix == "me" || s.Suffix == "me.all"
	for _, wanted := range []bool{media, false} { // an instance with media engines of a profile that has none in the table
		for _, p := range t.Profiles {
			if p.Compute == s.Compute && p.Memory == memory && p.Media == wanted {
				p.Media = p.Media || media
				return p, true
			}
		}
	}
	return Profile{}, false
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
