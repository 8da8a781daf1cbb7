package clock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		state int
		timex unix.Timex
		want  State
	}{
		{0, unix.Timex{Offset: -1500, Maxerror: 2000}, State{-0.0015, 0.002, true}},
		{0, unix.Timex{Offset: 250_000, Maxerror: 500, Status: unix.STA_NANO | unix.STA_PLL}, State{0.00025, 0.0005, true}},
		{timeError, unix.Timex{Maxerror: 16_000_000, Status: unix.STA_UNSYNC}, State{0, 16, false}},
		{0, unix.Timex{Status: unix.STA_UNSYNC}, State{0, 0, false}},
		{1, unix.Timex{Status: unix.STA_INS}, State{0, 0, true}},
	} {
		got := stateOf(c.state, &c.timex)
		assert.InDelta(t, c.want.Offset, got.Offset, 1e-12)
		assert.InDelta(t, c.want.Error, got.Error, 1e-12)
		assert.Equal(t, c.want.Synchronized, got.Synchronized)
	}
}

func TestThisMachine(t *testing.T) {
	s, err := Read()
	if err != nil {
		t.Skip(err) // a sandbox may forbid the call
	}
	require.GreaterOrEqual(t, s.Error, 0.0)
}
