package logrule

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func journalRule(j Journal) Rule {
	return Rule{Name: "seen", Type: Event, Journal: &j, Match: `Xid (?P<xid>\d+)`}
}

func TestEntriesOfTheJournal(t *testing.T) {
	for entry, want := range map[string]string{
		`{"MESSAGE":"plain","__CURSOR":"s=1"}`: "plain",
		`{"MESSAGE":[104,105,255]}`:            "hi\xff",
		`{"MESSAGE":null}`:                     "",
		`{"MESSAGE":[]}`:                       "",
		`{"MESSAGE":["two","values"]}`:         "",
		`{}`:                                   "",
		`oops`:                                 "",
	} {
		got, ok := messageOf([]byte(entry))
		assert.Equal(t, want, got, entry)
		assert.Equal(t, want != "", ok, entry)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(`{"MESSAGE":"plain"}`)
	f.Add(`{"MESSAGE":[1,2]}`)
	f.Fuzz(func(t *testing.T, entry string) {
		got, ok := messageOf([]byte(entry))
		if ok != (got != "") || len(got) > 3*len(entry) {
			t.Errorf("%q: %q, %v", entry, got, ok)
		}
	})
}

func TestJournalctlsArguments(t *testing.T) {
	j := newJournal(Journal{Unit: []string{"a.service", "b@*"}, Identifier: []string{"kernel"}}, nil, nil)
	assert.Equal(t, []string{
		"--follow", "--lines=0", "--output=json", "--output-fields=MESSAGE", "--no-pager", "--quiet",
		"--unit=a.service", "--unit=b@*", "--identifier=kernel",
	}, j.arguments())
}

// fake writes a program that stands in for journalctl.
func fake(t *testing.T, script string) func(string) (string, error) {
	path := filepath.Join(t.TempDir(), "journalctl")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	return func(name string) (string, error) {
		assert.Equal(t, "journalctl", name)
		return path, nil
	}
}

func TestJournalIsFollowedAndStartedAgain(t *testing.T) {
	events := make(chan device.Event, 10)
	r, err := newReader(Options{
		Rules: []Rule{journalRule(Journal{Unit: []string{"x"}})}, Logger: quiet(),
		Emit: func(e device.Event) {
			select {
			case events <- e:
			default: // enough were seen
			}
		},
	}, fake(t, `printf '%s\n' '{"MESSAGE":"Xid 79\nXid 31"}'; echo oops >&2; exit 3`))
	require.NoError(t, err)
	r.journals[0].retry.InitialInterval = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	for _, want := range []uint64{79, 31, 79, 31} {
		assert.Equal(t, want, (<-events).XID)
	}
	cancel()
	require.NoError(t, <-ended)
	assert.Zero(t, testutil.ToFloat64(r.own.journal))
}

func TestJournalEndsWithTheAgent(t *testing.T) {
	events := make(chan device.Event, 10)
	r, err := newReader(Options{
		Rules: []Rule{journalRule(Journal{Unit: []string{"x"}})}, Emit: func(e device.Event) { events <- e }, Logger: quiet(),
	}, fake(t, `echo '{"MESSAGE":"Xid 79"}'; exec sleep 1000`))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	<-events
	assert.EqualValues(t, 1, testutil.ToFloat64(r.own.journal))
	cancel()
	require.NoError(t, <-ended)
}

func TestWhyJournalctlEndedIsSaid(t *testing.T) {
	r, err := newReader(Options{Rules: []Rule{journalRule(Journal{Unit: []string{"x"}})}, Logger: quiet()},
		fake(t, `echo "No permission"`+" >&2; echo "+strings.Repeat("y", 2000)+" >&2; exit 1"))
	require.NoError(t, err)
	err = r.journals[0].follow(t.Context())
	require.ErrorContains(t, err, "exit status 1: No permission")
	assert.Less(t, len(err.Error()), 1000)
}

func TestWithoutJournalctl(t *testing.T) {
	r := newTestReader(t, nil, journalRule(Journal{Identifier: []string{"kernel"}}))
	assert.Empty(t, r.journals)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.Run(ctx))
}

func TestRulesWithOneSelectionShareAProcess(t *testing.T) {
	second := journalRule(Journal{Unit: []string{"b", "a"}})
	second.Name = "second"
	r, err := newReader(Options{Rules: []Rule{journalRule(Journal{Unit: []string{"a", "b"}}), second}, Logger: quiet()}, fake(t, ""))
	require.NoError(t, err)
	require.Len(t, r.journals, 1)
	assert.Len(t, r.journals[0].rules, 2)
}

func TestReaderRunsOverFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	events := make(chan device.Event, 10)
	r, err := New(Options{
		Rules: []Rule{{Name: "seen", Type: Event, Files: []string{path}, Match: "x"}},
		Emit: func(e device.Event) {
			select {
			case events <- e:
			default: // one is enough
			}
		},
		Logger: quiet(), Poll: time.Millisecond,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	require.Eventually(t, func() bool {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		defer f.Close()
		_, err = f.WriteString("x\n")
		require.NoError(t, err)
		return len(events) > 0
	}, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}
