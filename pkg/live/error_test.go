package live

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// What nobody expected is described by how far the connection came.
func TestUnexpectedTroubleIsNamedByItsStage(t *testing.T) {
	for got, want := range map[stage]string{
		dialling:    "no connection: check that warpwatch-agent runs there",
		handshaking: "what answers there does not speak HTTP: check that the address",
		streaming:   "its stream breaks the WebSocket protocol: check that the address",
	} {
		e := classify(Target{Node: "n1", Address: "n1:9847"}, errors.New("received header with unexpected rsv bits set"), nil, got)
		require.Contains(t, e.Error(), want)
	}
}
