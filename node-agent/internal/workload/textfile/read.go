package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// refusal is why a file is not taken.
type refusal struct {
	reason workload.Reason
	text   string
}

func (r *refusal) Error() string { return r.text }

var errUnchanged = errors.New("the file is as it was")

// read opens a file and parses it, unless it is still what known says.
func read(root *os.Root, name string, limit int64, known stamp) ([]*dto.MetricFamily, stamp, error) {
	// Opening a pipe would wait for its writer.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, stamp{}, &refusal{workload.Unreadable, fmt.Sprintf(
			"%v: it must be a file in this folder (or a link to one) that the agent's user can read", err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, &refusal{workload.Unreadable, fmt.Sprintf("ask for its size: %v", err)}
	}
	now := stamp{modified: info.ModTime(), size: info.Size()}
	if now == known {
		return nil, now, errUnchanged
	}
	if !info.Mode().IsRegular() {
		return nil, now, &refusal{workload.Unreadable, "it is a " + kind(info.Mode()) + ", and must be a file"}
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, now, &refusal{workload.Unreadable, fmt.Sprintf("read it: %v", err)}
	}
	if int64(len(text)) > limit {
		return nil, now, &refusal{workload.TooLarge, fmt.Sprintf("it is larger than %d bytes: write fewer series, or raise the limit", limit)}
	}
	families, err := parse(text)
	return families, now, err
}

func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&os.ModeNamedPipe != 0:
		return "pipe"
	case m&os.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// parse reads the text format. The error, if any, is a refusal.
func parse(text []byte) ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, syntax(err)
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		for _, m := range byName[name].GetMetric() {
			if m.TimestampMs != nil {
				return nil, &refusal{workload.Timestamps, fmt.Sprintf(
					"%s has a time after its value: leave it out, the time is when the agent is asked (%s is kept in warpwatch_agent_textfile_mtime_seconds)",
					name, "the file's own")}
			}
		}
		families = append(families, byName[name])
	}
	return families, nil
}

// syntax says where a file is wrong, and what it most often is.
func syntax(err error) *refusal {
	text, advice := err.Error(), ""
	var at expfmt.ParseError
	if errors.As(err, &at) {
		text = fmt.Sprintf("line %d: %s", at.Line, at.Msg)
	}
	switch {
	case strings.Contains(text, "expected float"):
		advice = ": leave a line out when there is no reading; no word and no 0 stands for one"
	case strings.Contains(text, "second TYPE"), strings.Contains(text, "second HELP"):
		advice = `: keep all lines of a metric together under one "# TYPE", and write the file anew instead of appending to it`
	case strings.Contains(text, "label"), strings.Contains(text, "escape"):
		advice = `: in a label's value write " as \", \ as \\ and a new line as \n`
	case strings.Contains(text, "unexpected end"):
		advice = ": end the last line with a new line, and rename the file into place when it is complete"
	}
	return &refusal{workload.Syntax, text + advice}
}
