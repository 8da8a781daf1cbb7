package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Grafana's review of plugins forbids files, processes and the environment in the backend. Of the packages that give
// them it may use what only names an error or a type.
func TestThePluginReadsNoFileAndStartsNoProcess(t *testing.T) {
	harmless := func(pkg, name string) bool {
		switch pkg {
		case "os":
			return strings.HasPrefix(name, "Err") || name == "Exit"
		case "syscall":
			return strings.ToUpper(name) == name || name == "RawConn" || name == "Errno"
		}
		return false
	}
	forbidden := map[string]bool{"os": true, "syscall": true, "os/exec": true, "plugin": true, "unsafe": true, "io/ioutil": true}
	for _, name := range tracked(t) {
		if !strings.HasPrefix(name, "pkg/") || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		imported := map[string]bool{}
		for _, i := range file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); forbidden[path] {
				imported[path] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] && !harmless(x.Name, s.Sel.Name) {
					t.Errorf("%s uses %s.%s", name, x.Name, s.Sel.Name)
				}
			}
			return true
		})
		for path := range imported {
			if path != "os" && path != "syscall" {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
