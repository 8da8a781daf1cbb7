package alerts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"
)

// Matcher is one condition of a silence.
type Matcher struct {
	Name, Value string
	Regex       bool // Value is a regular expression that must match the whole label
	Equal       bool // false: it must not be so

	compiled *regexp.Regexp
}

// Matches reports whether a label's value, "" for a label that is not there, fits.
func (m Matcher) Matches(value string) bool {
	fits := m.Value == value
	if m.Regex {
		fits = m.compiled != nil && m.compiled.MatchString(value)
	}
	return fits == m.Equal
}

// String is the matcher as Alertmanager writes it.
func (m Matcher) String() string {
	operator := map[[2]bool]string{{false, true}: "=", {false, false}: "!=", {true, true}: "=~", {true, false}: "!~"}[[2]bool{m.Regex, m.Equal}]
	return m.Name + operator + `"` + m.Value + `"`
}

type wireAlert struct {
	Fingerprint string            `json:"fingerprint"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
	Status      struct {
		State       string   `json:"state"`
		SilencedBy  []string `json:"silencedBy"`
		InhibitedBy []string `json:"inhibitedBy"`
		MutedBy     []string `json:"mutedBy"`
	} `json:"status"`
}

// errForeign is for what is no answer of Alertmanager.
var errForeign = errors.New("what answers is no Alertmanager: check its URL")

// each reads a list's entries one by one, so that a great many tiny ones cost no more than their text.
func each[T any](body []byte, take func(T)) error {
	entries := json.NewDecoder(bytes.NewReader(body))
	switch start, err := entries.Token(); {
	case err != nil:
		return errForeign
	case start == json.Delim('['):
		for entries.More() {
			var one T
			if entries.Decode(&one) != nil {
				return errForeign
			}
			take(one)
		}
		if _, err := entries.Token(); err != nil {
			return errForeign
		}
	case start != nil: // null is an empty list
		return errForeign
	}
	if _, err := entries.Token(); !errors.Is(err, io.EOF) {
		return errForeign
	}
	return nil
}

// decodeAlerts reads the list of alerts, the first maxAlerts of them, and says how many there are. One without a name or a start is
// left out.
func decodeAlerts(body []byte) (all []Alert, n int, err error) {
	err = each(body, func(w wireAlert) {
		if a, ok := w.alert(); ok {
			if n++; n <= maxAlerts {
				all = append(all, a)
			}
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return all, n, nil
}

func (w wireAlert) alert() (Alert, bool) {
	name := w.Labels["alertname"]
	if name == "" || w.StartsAt.IsZero() || len(w.Labels) > maxLabels {
		return Alert{}, false
	}
	a := Alert{
		Fingerprint: w.Fingerprint, Name: shorten(name), Cluster: shorten(w.Labels["cluster"]), Labels: make(map[string]string, len(w.Labels)),
		Summary: oneLine(cmp.Or(w.Annotations["summary"], w.Annotations["description"], w.Annotations["message"])),
		Starts:  w.StartsAt.UTC(), Ends: w.EndsAt.UTC(),
	}
	for label, value := range w.Labels {
		a.Labels[shorten(label)] = shorten(value)
	}
	switch {
	case len(w.Status.SilencedBy) > 0:
		a.Suppressed = "silenced"
	case len(w.Status.InhibitedBy) > 0:
		a.Suppressed = "inhibited by another alert"
	case len(w.Status.MutedBy) > 0:
		a.Suppressed = "muted at this time"
	}
	return a, true
}

type wireSilence struct {
	ID     string `json:"id"`
	Status struct {
		State string `json:"state"`
	} `json:"status"`
	CreatedBy string    `json:"createdBy"`
	Comment   string    `json:"comment"`
	StartsAt  time.Time `json:"startsAt"`
	EndsAt    time.Time `json:"endsAt"`
	Matchers  []struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		IsRegex bool   `json:"isRegex"`
		IsEqual *bool  `json:"isEqual"` // before version 0.22 there was only equal
	} `json:"matchers"`
}

// decodeSilences reads the list of silences, the first maxSilences of them, and says how many there are. One that lasts for no time is
// left out.
func decodeSilences(body []byte) (all []Silence, n int, err error) {
	err = each(body, func(w wireSilence) {
		if w.ID == "" || w.StartsAt.IsZero() || !w.EndsAt.After(w.StartsAt) || len(w.Matchers) > maxMatchers {
			return
		}
		if n++; n <= maxSilences {
			all = append(all, w.silence())
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return all, n, nil
}

func (w wireSilence) silence() Silence {
	s := Silence{
		ID: shorten(w.ID), State: shorten(w.Status.State), By: oneLine(w.CreatedBy), Comment: oneLine(w.Comment), Starts: w.StartsAt.UTC(), Ends: w.EndsAt.UTC(),
	}
	for _, m := range w.Matchers {
		one := Matcher{Name: shorten(m.Name), Value: shorten(m.Value), Regex: m.IsRegex, Equal: m.IsEqual == nil || *m.IsEqual}
		if one.Regex && len(m.Value) <= maxText {
			one.compiled, _ = regexp.Compile("^(?s:" + m.Value + ")$") // one that is no expression matches nothing
		}
		s.Matchers = append(s.Matchers, one)
	}
	return s
}

// shorten cuts a text that is longer than anybody reads.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

func oneLine(text string) string { return shorten(strings.Join(strings.Fields(shorten(text)), " ")) }
