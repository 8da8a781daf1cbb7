package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the documentation")

const documentation = "../../../docs/user/agent-configuration.md"

func TestDocumentation(t *testing.T) {
	before, err := os.ReadFile(documentation)
	require.NoError(t, err)
	text := string(before)
	for name, table := range map[string]string{"groups": GroupTable(), "flags": FlagTable(), "keys": KeyTable()} {
		part := regexp.MustCompile(fmt.Sprintf("(?s)<!-- generated: %s -->\n.*?<!-- end -->", name))
		require.Regexp(t, part, text)
		text = part.ReplaceAllLiteralString(text, fmt.Sprintf("<!-- generated: %s -->\n%s<!-- end -->", name, table))
	}
	if *update {
		require.NoError(t, os.WriteFile(documentation, []byte(text), 0o644))
		return
	}
	assert.Equal(t, text, string(before), "docs/user/agent-configuration.md is out of date: go test ./node-agent/internal/config -update")
}

func TestEveryKeyIsExplained(t *testing.T) {
	help := helpTexts()
	for _, k := range Keys() {
		assert.NotEmpty(t, k.Help, k.Path)
		delete(help, k.Path)
	}
	assert.Empty(t, help, "texts without a key")
}

// What a reload leaves alone is what the documentation says needs a restart.
func TestRestartKeys(t *testing.T) {
	before, after := Serve{Settings: Defaults()}, Serve{Settings: Defaults()}
	after.Source, after.Node, after.Cluster, after.Ring = "x", "x", "x", 1
	after.Listen, after.WebConfigFile, after.TokenFile = []string{"x"}, "x", "x"
	after.Advertise, after.MaxSubscribers = "x", 1
	after.Settings.Events.Keep, after.Settings.Workload.OTLP.Enabled = 1, true
	documented := map[string]bool{}
	for _, key := range needRestart(&before, &after) {
		for _, k := range Keys() {
			if k.Path == key || len(k.Path) > len(key) && k.Path[:len(key)+1] == key+"." {
				documented[k.Path] = true
				assert.True(t, k.Restart, k.Path)
			}
		}
	}
	for _, k := range Keys() {
		assert.Equal(t, documented[k.Path], k.Restart, k.Path)
	}
}
