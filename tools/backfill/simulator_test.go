package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// actAsSimulator makes the test binary a simulator for the tests that run it as one.
const actAsSimulator = "WARPWATCH_TEST_SIMULATOR"

func TestMain(m *testing.M) {
	if os.Getenv(actAsSimulator) != "" {
		os.Exit(simulate(os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

// simulate writes what `warpwatch-agent simulate-history` writes, for --gpus devices of --metrics columns each; the
// last device is a MIG instance. The first column of the last device has no value in odd hours.
func simulate(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("simulator", flag.ContinueOnError)
	node := flags.String("node-name", "", "")
	from := flags.String("from", "", "")
	to := flags.String("to", "", "")
	step := flags.Duration("step", 0, "")
	gpus := flags.Int("gpus", 2, "")
	metrics := flags.Int("metrics", 2, "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	start, err1 := time.Parse(time.RFC3339, *from)
	end, err2 := time.Parse(time.RFC3339, *to)
	if err1 != nil || err2 != nil || !start.Before(end) || *step <= 0 || *node == "" {
		fmt.Fprintln(os.Stderr, "want --node-name, --from, --to and --step")
		return 2
	}
	w := bufio.NewWriter(out)
	defer w.Flush()
	send := func(m *wire.Message) {
		if _, err := protodelim.MarshalTo(w, m); err != nil {
			panic(err)
		}
	}
	schema := &wire.Schema{SchemaVersion: wire.SchemaVersion, AgentVersion: "1.0.0", Epoch: "e", Node: *node, Source: "simulate", DriverVersion: "580.1"}
	for g := range *gpus {
		d := gpu.Device{Identity: gpu.Identity{UUID: fmt.Sprintf("GPU-%d", g)}, Index: g, Model: "NVIDIA H200"}
		if g == *gpus-1 {
			d.GPUInstance, d.MIGProfile = "3", "1g.18gb"
		}
		schema.Devices = append(schema.Devices, wire.FromDevice(d))
		for m := range *metrics {
			schema.Columns = append(schema.Columns, &wire.Column{Device: uint32(g), Metric: fmt.Sprintf("gpu_metric_%d", m), Multiplier: 1, Divisor: 1000})
		}
	}
	send(&wire.Message{Body: &wire.Message_Schema{Schema: schema}})
	encoder := wire.NewEncoder(schema)
	for seq, at := uint64(1), start; !at.After(end); seq, at = seq+1, at.Add(*step) {
		s := wire.Sample{Seq: seq, Time: at, Readings: make([]gpu.Reading, len(schema.Columns))}
		for i := range s.Readings {
			s.Readings[i] = gpu.Read(float64(i) + math.Sin(float64(at.Unix())/3600+float64(i)))
		}
		if at.Hour()%2 == 1 {
			s.Readings[len(s.Readings)-*metrics] = gpu.Absent(gpu.Lost)
		}
		tick, err := encoder.Encode(s)
		if err != nil {
			panic(err)
		}
		send(&wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{tick}}}})
	}
	return 0
}
