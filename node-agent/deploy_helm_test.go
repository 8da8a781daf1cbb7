package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
)

func TestTheChartConfiguresThisAgent(t *testing.T) {
	text, err := os.ReadFile("deploy/helm/warpwatch-agent/values.yaml")
	require.NoError(t, err)
	var values struct{ Config map[string]any }
	require.NoError(t, yaml.Unmarshal(text, &values))
	require.NotEmpty(t, values.Config)
	text, err = yaml.Marshal(values.Config)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	_, err = config.Parse([]string{"--config.file=" + file, "--web.listen-address=:9847"}, io.Discard)
	assert.NoError(t, err)
}
