package workload

import (
	"fmt"
	"strings"
)

// Reason is why something was refused; it is a label's value, so there are few.
type Reason string

// The reasons.
const (
	Reserved    Reason = "reserved_name"
	InvalidName Reason = "invalid_name"
	InvalidData Reason = "invalid_data"
	Conflict    Reason = "type_conflict"
	Duplicate   Reason = "duplicate"
	TooMany     Reason = "too_many"
	TooLong     Reason = "too_long"
	Syntax      Reason = "syntax"
	Timestamps  Reason = "timestamps"
	TooLarge    Reason = "too_large"
	Unreadable  Reason = "unreadable"
	OutOfOrder  Reason = "out_of_order"
	Unsupported Reason = "unsupported"
)

// maxMessages bounds a report: whoever sends a thousand wrong names reads the first few.
const maxMessages = 10

// Report says what became of series.
type Report struct {
	Accepted int       // series
	Refused  int       // series
	Full     int       // of those refused, for want of room
	Messages []Refusal // the first few, one for each metric and reason

	sender string
}

// Refusal is one message.
type Refusal struct {
	Metric string
	Reason Reason
	Text   string // whole: who sent what, what is wrong with it and what to do
}

// refuse notes n refused series of a metric.
func (r *Report) refuse(in *input, metric string, reason Reason, n int, format string, args ...any) {
	if in != nil {
		in.refused[reason] += uint64(n)
	}
	r.Refused += n
	if reason == TooMany {
		r.Full += n
	}
	for _, m := range r.Messages {
		if m.Metric == metric && m.Reason == reason {
			return
		}
	}
	if len(r.Messages) >= maxMessages {
		return
	}
	text := fmt.Sprintf(format, args...)
	if metric != "" {
		text = clip(metric) + ": " + text
	}
	if r.sender != "" {
		text = r.sender + ": " + text
	}
	r.Messages = append(r.Messages, Refusal{Metric: metric, Reason: reason, Text: text})
}

// clip shortens text that came from outside, for messages.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
