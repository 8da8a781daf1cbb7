package query

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScopeSaysWhatItSelects(t *testing.T) {
	require.Empty(t, Scope{}.String())
	require.Equal(t, "nodes n1, n2, n3 and 2 more; MIG instances /.+/", Scope{
		Nodes: []string{"n1", "n2", "n3", "n4", "n5"}, MIGs: []string{"/.+/"},
	}.String())
}
