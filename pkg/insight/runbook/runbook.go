// Package runbook is what to do about each thing that judgements and alert rules name. The pages of the app, the links of
// alert rules and the documentation are made from it. It is data, in runbooks.yaml.
package runbook

import (
	"bytes"
	_ "embed" // for the runbooks
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Runbook is one page. All texts are Markdown of one paragraph.
type Runbook struct {
	ID    string `yaml:"id"` // stable, part of links: "row-remap-failure"
	Title string `yaml:"title"`
	// Alerts are the names of the alert rules that link to it.
	Alerts []string `yaml:"alerts"`
	// XIDs are the codes that it is about, besides those of Immediate.
	XIDs []uint64 `yaml:"xids"`
	// Immediate are NVIDIA's immediate actions all of whose codes it is about, but for those that have a page of their own.
	Immediate []string `yaml:"immediate"`

	Meaning    string   `yaml:"meaning"`
	Blast      string   `yaml:"blast"`    // what else it touches
	Commands   []string `yaml:"commands"` // the first ones, which only look
	Decision   string   `yaml:"decision"` // what to make of what they print
	Action     string   `yaml:"action"`   // the safe one
	Escalation string   `yaml:"escalation"`
	Recovery   string   `yaml:"recovery"` // how to see that it is over
	Links      []string `yaml:"links"`
}

//go:embed runbooks.yaml
var source []byte

type library struct {
	list  []Runbook
	byID  map[string]int
	xid   map[uint64]string
	class map[string]string
	alert map[string]string
}

// books are read when they are first asked for. A test reads them, so there is no error to return here.
var books = sync.OnceValue(func() *library {
	lib, err := parse(source)
	if err != nil {
		panic("insight/runbook: the built-in runbooks are broken: " + err.Error())
	}
	return lib
})

func parse(raw []byte) (*library, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	lib := &library{byID: map[string]int{}, xid: map[uint64]string{}, class: map[string]string{}, alert: map[string]string{}}
	if err := decoder.Decode(&lib.list); err != nil {
		return nil, fmt.Errorf("read runbooks: %w", err)
	}
	idForm := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for i, r := range lib.list {
		if !idForm.MatchString(r.ID) {
			return nil, fmt.Errorf("read runbooks: id %q of page %d must be words of small letters with dashes between", r.ID, i+1)
		}
		if _, twice := lib.byID[r.ID]; twice {
			return nil, fmt.Errorf("read runbooks: %s is there twice", r.ID)
		}
		lib.byID[r.ID] = i
		for name, text := range map[string]string{
			"title": r.Title, "meaning": r.Meaning, "blast": r.Blast, "decision": r.Decision, "action": r.Action,
			"escalation": r.Escalation, "recovery": r.Recovery,
		} {
			if text == "" {
				return nil, fmt.Errorf("read runbooks: %s has no %s", r.ID, name)
			}
		}
		if len(r.Commands) == 0 {
			return nil, fmt.Errorf("read runbooks: %s has no commands", r.ID)
		}
		for _, code := range r.XIDs {
			if other, twice := lib.xid[code]; twice {
				return nil, fmt.Errorf("read runbooks: XID %d is in %s and %s", code, other, r.ID)
			}
			lib.xid[code] = r.ID
		}
		for to, names := range map[*map[string]string][]string{&lib.class: r.Immediate, &lib.alert: r.Alerts} {
			for _, name := range names {
				if other, twice := (*to)[name]; twice {
					return nil, fmt.Errorf("read runbooks: %s is in %s and %s", name, other, r.ID)
				}
				(*to)[name] = r.ID
			}
		}
	}
	return lib, nil
}

// All are the runbooks, in the order of the pages.
func All() []Runbook { return slices.Clone(books().list) }

// Lookup finds one by its id.
func Lookup(id string) (Runbook, bool) {
	lib := books()
	if i, found := lib.byID[id]; found {
		return lib.list[i], true
	}
	return Runbook{}, false
}

// ForAlert is the id of the runbook of an alert rule, "" for none.
func ForAlert(alert string) string { return books().alert[alert] }

// ForXID is the id of the runbook of an XID: its own, that of NVIDIA's immediate action, or that of codes that nobody knows.
func ForXID(code uint64) string {
	lib := books()
	if id, found := lib.xid[code]; found {
		return id
	}
	x, found := gpu.LookupXID(code)
	if !found {
		return "xid-unknown"
	}
	if id, ok := lib.class[x.ImmediateAction]; ok {
		return id
	}
	return "xid-unknown"
}

// String names the page as lists do.
func (r Runbook) String() string {
	if len(r.XIDs) == 1 {
		return r.Title + " (XID " + strconv.FormatUint(r.XIDs[0], 10) + ")"
	}
	return r.Title
}
