package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// Slurm runs them with whatever /bin/sh is.
func TestScriptsAreOfAnyShell(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "node-agent", "deploy", "slurm", "*.sh"))
	if err != nil || len(files) != 2 {
		t.Fatalf("scripts %v (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(bytes.NewReader(text), filepath.Base(file))
		if err != nil {
			t.Error(err)
			continue
		}
		if info, err := os.Stat(file); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be run (%v)", file, err)
		}
		syntax.Walk(script, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if ok && len(call.Args) > 0 && call.Args[0].Lit() == "exit" && (len(call.Args) != 2 || call.Args[1].Lit() != "0") {
				t.Errorf("%s: %v: a script that fails takes the node out of service", file, call.Pos())
			}
			return true
		})
	}
}
