package plugin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// D13, D23, D09: memory that the driver does not tell is an empty cell, and so is what cannot be true.
func TestProcesses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		devices := boards("n1", 2)
		f.agents[0].SetProcesses("",
			gpu.Process{Device: devices[0], PID: 79, Name: "python", User: "ada", Kind: "compute", SMRatio: gpu.Read(0.5)},
			gpu.Process{Device: devices[0], PID: 80, Name: "python", Kind: "compute", MemoryBytes: gpu.Read(1 << 20), SMRatio: gpu.Read(4e9),
				Owner: gpu.Owner{SlurmJob: "4711", User: "bob"}},
			gpu.Process{Device: devices[1], PID: 81, Name: "nvidia-cuda-mps-server", Kind: "mps", MemoryBytes: gpu.Read(17179869184 * (1 << 30)), DecoderRatio: gpu.Read(0),
				Owner: gpu.Owner{Namespace: "ml", Pod: "train-0", Container: "main"}})
		f.agents[1].SetProcesses("MPS clients are not listed")
		time.Sleep(3 * time.Second)

		all := f.frames(t, time.Hour, `{"queryType":"processes"}`)
		wantCells(t, all[0], "node,gpu,pid,name,user,kind,owner,memory,sm,memory_activity,encoder,decoder",
			"n1|0|80|python|bob|compute|job 4711|1.048576e+06|–|–|–|–",
			"n1|0|79|python|ada|compute||–|0.5|–|–|–",
			"n1|1|81|nvidia-cuda-mps-server||mps|ml/train-0|–|–|–|–|0")
		if all[0].Meta.Type != data.FrameTypeTable {
			t.Errorf("got %+v", all[0].Meta)
		}
		for _, want := range []string{"The list of n2 (n2:9847) is not complete: MPS clients are not listed.", "does not tell the memory of 1 of 3 processes"} {
			if got := noticeTexts(all); !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		}
		wantCells(t, f.frames(t, time.Hour, `{"queryType":"processes","jobs":["4711"]}`)[0], "pid", "80")
		wantCells(t, f.frames(t, time.Hour, `{"queryType":"processes","maxRows":1}`)[0], "pid", "81")

		answer := f.ask(t, time.Hour, map[string]string{"FromAlert": "true"}, map[string]string{"A": `{"queryType":"processes"}`})["A"]
		wantCells(t, answer.Frames[0], "pid,memory", "80|1.048576e+06")
	})
}

// An empty list says why it is.
func TestNoProcesses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.agents[0].SetProcesses("")
		time.Sleep(2 * time.Second)
		for q, want := range map[string]string{
			`{"queryType":"processes"}`:                `info: No process uses a GPU of the selection now, say 1 of 1 agents.`,
			`{"queryType":"processes","nodes":["n7"]}`: `warning: No agent was found. Selected: `,
		} {
			all := f.frames(t, time.Hour, q)
			if got := noticeTexts(all); all[0].Rows() != 0 || len(all[0].Fields) == 0 || !strings.Contains(got, want) {
				t.Errorf("%s: got %s\nwant %s", q, got, want)
			}
		}
		if got := noticeTexts(f.frames(t, time.Hour, `{"queryType":"processes","nodes":["n7"]}`)); !strings.Contains(got, "install it on the GPU nodes") {
			t.Error(got)
		}
		past := f.askUntil(t, time.Now().Add(-time.Hour), time.Hour, nil, map[string]string{"A": `{"queryType":"processes"}`})["A"]
		if got := noticeTexts(past.Frames); !strings.Contains(got, "let it end now") {
			t.Error(got)
		}
		f.agents[0].Stop()
		time.Sleep(time.Minute)
		f.past.err = fmt.Errorf("down")
	})
}

func TestProcessesGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		d := boards("n1", 1)[0]
		f.agents[0].SetProcesses("", gpu.Process{Device: d, PID: 1, MemoryBytes: gpu.Read(5)})
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, time.Hour, `{"queryType":"processes"}`)[0])
		got := &tables{}
		stop := f.runTable(t, path, raw, got)
		time.Sleep(5 * time.Second)
		f.agents[0].SetProcesses("", gpu.Process{Device: d, PID: 2, MemoryBytes: gpu.Read(7)})
		changed := time.Now()
		time.Sleep(5 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		all := got.snapshot()
		if len(all) < 3 || len(all) > 8 {
			t.Fatalf("%d packets", len(all)) // at once, when it changed, and a heartbeat now and then
		}
		for _, p := range all {
			switch late := p.at.Sub(changed); {
			case late < 0:
				wantCells(t, p.frame, "pid,memory", "1|5")
			case late > 1100*time.Millisecond:
				wantCells(t, p.frame, "pid,memory", "2|7")
			}
		}
		if last := all[len(all)-1]; last.at.Before(changed) {
			t.Error("the change was not told")
		}
	})
}
