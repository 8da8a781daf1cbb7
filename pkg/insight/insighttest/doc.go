// Package insighttest is a text language for tests of judgements: series in, verdicts out. Its notation of series is that of
// Prometheus' promqltest. Every package below pkg/insight keeps its scenarios in testdata/*.test and runs them so:
//
//	//go:embed testdata/*.test
//	var scenarios embed.FS
//
//	func TestScenarios(t *testing.T) {
//		insighttest.Run(t, scenarios, insighttest.Evals{
//			"health": func(s *insighttest.Scenario, args []string) ([]string, error) { … },
//		})
//	}
//
// A script is a sequence of blocks. Text behind # is a comment (in expected lines only where it is the first of the line),
// empty lines mean nothing, a block is a line that starts in the first column and the indented lines below it.
//
//	load 1m
//	  {node="n1",uuid="GPU-[1-2]",model="NVIDIA H100 80GB HBM3",namespace="ml",pod="train-0"}
//	  gpu_sm_active_ratio{node="n1",uuid="GPU-1"} 0.9x29
//	  gpu_power_watts{node="n1",uuid="GPU-1"}:max 700x9 _x10 650+5x9
//	  train_step_seconds{job="j",rank="0"} 1.2x29
//	  event 12m n1 GPU-1 xid 79 "fell off the bus"
//	eval health
//	  n1 GPU-1 critical xid-79
//	  ~ low confidence
//
// # load
//
// "load 1m" gives the step; steps start at [Start], or at the time behind "from": "load 1h from 2026-03-02T00:00:00Z". Blocks
// add up until "clear"; they must then agree on step and start. The grid is as long as the longest series, shorter ones are
// absent at the end. Lines of a block are:
//
// A series: metric, labels, and values. The metric must be in the catalogue, which also says whether it is of a device or of
// a workload. The values of a counter are its rate per second, as in an [insight.Grid]. What of the samples a value stands
// for follows the labels: ":max", ":min", ":rise", ":anybits", ":total", nothing for the mean.
//
// A subject alone, labels without a metric: it is there and has no values, or gets labels once for all of its series.
//
// An event: "event TIME NODE DEVICE KIND [CODE] ["detail"] [{labels}]". TIME is an offset from the start, "12m", or a span,
// "12m-20m". DEVICE is a UUID, "GPU-1/3" for MIG instance 3 of it, "-" where nobody knows. CODE is that of an XID. Labels are
// cluster and origin ("kernel" unless said otherwise). A device that no series names is an error but for node events.
//
// Labels of devices: cluster, node, uuid, gpu_instance and compute_instance are the identity (node and uuid are needed);
// model, index, pci_bus_id, mig_profile, mig_uuid, mig_enabled ("true"; a MIG instance and its parent have it by themselves),
// driver and class ("training", "inference") describe it, and namespace, pod, container, job (of Slurm), user and owner_source
// are its owner. All series of one device may each name a part of what describes it; they must not contradict. A second owner
// is a second set of labels with the prefix "owner2_", up to "owner9_".
// Labels of workloads: cluster, node, namespace, pod, job, model, rank, instance, all of them identity.
//
// A bracketed range in a label's value stands for several subjects: uuid="GPU-[1-8]", rank="[0-7]". Two ranges in one line are
// all combinations of both. Ranges with an i behind them go together with the first of them, in step:
// node="n[1-2]i",pod="train-[0-1]i" are two subjects, not four.
//
// # Values
//
// As in promqltest: "1" is a value, "_" an absent one, "_x5" five absent ones, "1x4" a value and four repetitions of it (five
// values), "1+2x3" a value and three more, each larger by 2 (1 3 5 7), "9-2x3" falling. Not in promqltest: "(0.1 0.9)x10" is
// the group ten times, and numbers may have a factor k, M, G, T (of 1000), Ki, Mi, Gi, Ti behind them, before the x: "64Gix9".
//
// # eval
//
// "eval NAME args…" calls the function of that name with everything loaded so far; arguments with blanks are quoted. The lines
// below it are what it must answer, in order and exactly, but for blanks around and runs of blanks in them. A line that starts
// with "~" only has to be contained. "..." stands for any lines, none included. "fail TEXT" as the only line expects an error
// that contains TEXT. A failure shows the script's line and the whole difference, line by line.
package insighttest
