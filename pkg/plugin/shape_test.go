package plugin

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/live"
)

var updateShapes = flag.Bool("update-shapes", false, "write what the front end's types are compared with")

const shapes = "../../src/datasource/testdata/backend.json"

// The front end's types have every member that the backend sends, and no other: its test compares them with the same lists.
// go test ./pkg/plugin -run FrontEnd -update-shapes writes them.
func TestWhatTheFrontEndIsSent(t *testing.T) {
	lists := map[string][]string{
		"AgentState": {},
		"LiveMode":   {modeReplace, modeAppend, modeCells},
	}
	for _, state := range []live.State{live.Idle, live.Connecting, live.Connected, live.Lagging, live.Stale, live.Refused, live.Unreachable} {
		lists["AgentState"] = append(lists["AgentState"], string(state))
	}
	for name, of := range map[string]any{
		"AgentStatus": agentInfo{}, "AgentsPage": agentsAnswer{}, "AgentSource": sourceInfo{}, "Coverage": coverageAnswer{}, "CoverageRow": coverageRow{},
		"LiveContinuation": liveMeta{}, "Metric": metricInfo{}, "Notice": noticeInfo{}, "VariableValue": variable{}, "VariableValues": variablesAnswer{},
	} {
		lists[name] = members(reflect.TypeOf(of))
	}
	for _, list := range lists {
		slices.Sort(list)
	}
	got, err := json.MarshalIndent(lists, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *updateShapes {
		if err := os.WriteFile(shapes, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Clean(shapes))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s has other members: update it, and src/datasource/types.ts. Now they are\n%s", shapes, got)
	}
}

// members are the names of a struct's members in JSON.
func members(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
