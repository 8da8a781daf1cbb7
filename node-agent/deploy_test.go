package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
)

// What an operator is told to install must be there, and must work with this agent.
func TestKustomization(t *testing.T) {
	text, err := os.ReadFile("deploy/kubernetes/kustomization.yaml")
	require.NoError(t, err)
	var k struct {
		Resources  []string
		ConfigMaps []struct{ Files []string } `yaml:"configMapGenerator"`
	}
	require.NoError(t, yaml.Unmarshal(text, &k))
	require.NotEmpty(t, k.ConfigMaps)
	for _, file := range append(k.Resources, k.ConfigMaps[0].Files...) {
		text, err := os.ReadFile(filepath.Join("deploy/kubernetes", file))
		require.NoError(t, err)
		assert.NoError(t, yaml.Unmarshal(text, new(any)), file)
	}
	_, err = config.Parse([]string{"--config.file=deploy/kubernetes/agent.yaml", "--web.listen-address=:9847"}, io.Discard)
	assert.NoError(t, err)
}

// told are the texts for operators.
func told(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"../README.md", "../docs/user/*.md", "deploy/*", "deploy/*/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts[file] = string(text)
		}
	}
	return texts
}

func TestFlagsThatOperatorsAreTold(t *testing.T) {
	known := regexp.MustCompile("`(--[a-z.-]+)`").FindAllStringSubmatch(config.FlagTable(), -1)
	flags := map[string]bool{"--log.level": true, "--log.format": true}
	for _, flag := range known {
		flags[flag[1]] = true
	}
	ours := regexp.MustCompile(`--(?:web|config|collect|ring|simulate|log)\.[a-z-]+(?:\.[a-z-]+)*|--(?:cluster|node-name|source)\b`)
	for file, text := range told(t) {
		for _, flag := range ours.FindAllString(text, -1) {
			assert.True(t, flags[flag], "%s speaks of %s, which the agent does not have", file, flag)
		}
	}
}

func TestLinksOfTheDocumentation(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)
	for file, text := range told(t) {
		if !strings.HasSuffix(file, ".md") {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(found[1], "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(file), found[1]))
				assert.NoError(t, err, "linked in "+file)
			}
		}
	}
}
