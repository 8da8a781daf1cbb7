package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// goModules are the modules that are linked into programs, and the standard library, as the programs themselves tell.
func goModules(ctx context.Context, root string, programs []string) ([]part, error) {
	versions := map[string]string{}
	var parts []part
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("read what %s is made of: %w", program, err)
		}
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				return nil, fmt.Errorf("%s holds a replaced module, %s", program, dep.Path)
			}
			if _, had := versions[dep.Path]; had {
				continue
			}
			versions[dep.Path] = dep.Version
			parts = append(parts, part{
				purl: "pkg:golang/" + dep.Path + "@" + dep.Version, name: dep.Path, version: dep.Version, goSum: dep.Sum,
			})
		}
		if _, had := versions["std"]; !had {
			versions["std"] = info.GoVersion
			// "go1.26.8", or with an experiment after it.
			version := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
			parts = append(parts, part{purl: "pkg:golang/std@" + version, name: "std", version: version})
		}
	}
	folders, err := moduleFolders(ctx, root, versions)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		p := &parts[i]
		if p.texts, err = texts(folders[p.name]); err == nil {
			p.licence, err = recognise(p.texts)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.purl, err)
		}
	}
	return parts, nil
}

// moduleFolders are where the modules' sources lie, by path.
func moduleFolders(ctx context.Context, root string, versions map[string]string) (map[string]string, error) {
	args := []string{"list", "-m", "-json=Path,Version,Dir"}
	for path := range versions {
		if path != "std" {
			args = append(args, path)
		}
	}
	out, err := goOutput(ctx, root, args...)
	if err != nil {
		return nil, err
	}
	goroot, err := goOutput(ctx, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"std": filepath.Clean(strings.TrimSpace(string(goroot)))}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var m struct{ Path, Version, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("read where modules lie: %w", err)
		}
		if m.Version != versions[m.Path] || m.Dir == "" {
			return nil, fmt.Errorf("the program was built with %s %s, and go.mod has %s: build it again", m.Path, versions[m.Path], m.Version)
		}
		folders[m.Path] = m.Dir
	}
}

func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
