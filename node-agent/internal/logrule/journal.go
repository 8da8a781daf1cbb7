package logrule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// journal follows a selection of the systemd journal, through journalctl.
type journal struct {
	selects Journal
	program string
	rules   []*active
	own     *selfMetrics
	log     *slog.Logger
	retry   *backoff.ExponentialBackOff
}

const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	lasting    = time.Minute // a run of this length was a success
	stopDelay  = 2 * time.Second
	maxStderr  = 512
)

func newJournal(selects Journal, own *selfMetrics, log *slog.Logger) *journal {
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval = firstRetry, lastRetry
	return &journal{selects: selects, own: own, log: log, retry: retry}
}

// arguments are fixed but for the names, which were checked and cannot be taken for options.
func (j *journal) arguments() []string {
	args := []string{"--follow", "--lines=0", "--output=json", "--output-fields=MESSAGE", "--no-pager", "--quiet"}
	for _, unit := range j.selects.Unit {
		args = append(args, "--unit="+unit)
	}
	for _, identifier := range j.selects.Identifier {
		args = append(args, "--identifier="+identifier)
	}
	return args
}

// run keeps journalctl running until ctx ends.
func (j *journal) run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		started := time.Now()
		reason := "it ended"
		if err := j.follow(ctx); err != nil {
			reason = err.Error()
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) >= lasting {
			j.retry.Reset()
		}
		if reason != said {
			said = reason
			j.log.Warn("journalctl does not go on; it is started again", "reason", reason)
		}
		select {
		case <-ctx.Done():
		case <-time.After(j.retry.NextBackOff()):
		}
	}
}

// follow runs journalctl once.
func (j *journal) follow(ctx context.Context) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	cmd := exec.CommandContext(ctx, j.program, j.arguments()...)
	cmd.Env = []string{"LC_ALL=C", "SYSTEMD_COLORS=0"}
	cmd.WaitDelay = stopDelay
	stderr := &head{limit: maxStderr}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", j.program, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", j.program, err)
	}
	j.own.journal.Inc()
	defer j.own.journal.Dec()
	errRead := j.read(stdout)
	if errRead != nil {
		kill() // nobody reads it any more
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", j.program, err, clean(string(stderr.kept), maxStderr))
	}
	return errRead
}

// read takes entries until their end.
func (j *journal) read(r io.Reader) error {
	limit := 0
	for _, rule := range j.rules {
		limit = max(limit, rule.MaxLine)
	}
	lines := j.own.lines.WithLabelValues(fromJournal)
	split := splitter{
		limit: 6*limit + 4096, // JSON writes a byte as six at most, and adds fields of its own
		line: func(entry []byte) {
			message, ok := messageOf(entry)
			if !ok {
				return
			}
			now := time.Now()
			for line := range strings.Lines(message) { // an entry may hold several
				lines.Inc()
				for _, rule := range j.rules {
					rule.apply([]byte(strings.TrimRight(line, "\r\n")), now)
				}
			}
		},
		tooLong: j.own.tooLong.WithLabelValues(fromJournal).Inc,
	}
	buffer := make([]byte, chunk)
	for {
		n, err := r.Read(buffer)
		split.write(buffer[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
	}
}

// messageOf is the text of an entry. journalctl writes text as a string, and bytes that are no text as numbers.
func messageOf(entry []byte) (string, bool) {
	var e struct {
		Message json.RawMessage `json:"MESSAGE"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return "", false
	}
	var text string
	if json.Unmarshal(e.Message, &text) == nil {
		return text, text != ""
	}
	var numbers []uint16
	if json.Unmarshal(e.Message, &numbers) != nil {
		return "", false
	}
	bytes := make([]byte, len(numbers))
	for i, n := range numbers {
		bytes[i] = byte(n)
	}
	return string(bytes), len(bytes) > 0
}

// head keeps the beginning of what is written.
type head struct {
	limit int
	kept  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}
