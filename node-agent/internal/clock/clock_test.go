package clock

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestCollector(t *testing.T) {
	state, failure := State{Offset: -0.0015, Error: 0.002, Synchronized: true}, error(nil)
	c := newCollector(func() (State, error) { return state, failure })
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP warpwatch_agent_clock_error_seconds By how much the node's clock may be off at most, as the kernel reckons.
# TYPE warpwatch_agent_clock_error_seconds gauge
warpwatch_agent_clock_error_seconds 0.002
# HELP warpwatch_agent_clock_offset_seconds By how much the node's clock is off, as far as its time service knows.
# TYPE warpwatch_agent_clock_offset_seconds gauge
warpwatch_agent_clock_offset_seconds -0.0015
# HELP warpwatch_agent_clock_synchronized Whether a time service keeps the node's clock right: 1, or 0.
# TYPE warpwatch_agent_clock_synchronized gauge
warpwatch_agent_clock_synchronized 1
`)))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)

	failure = errors.New("not permitted")
	require.Zero(t, testutil.CollectAndCount(c))
}
