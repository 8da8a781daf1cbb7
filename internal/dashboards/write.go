package dashboards

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Write writes the JSON of every board and the gallery below the root of the repository. A file whose contents change gets
// the next revision: by that Grafana sees that the app brings another one.
func Write(root string) error {
	files, err := Files(root)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			return fmt.Errorf("make folder of dashboards: %w", err)
		}
		if err := os.WriteFile(filepath.Join(root, name), text, 0o644); err != nil {
			return fmt.Errorf("write dashboards: %w", err)
		}
	}
	return nil
}

// Files are what Write writes, by name below the root.
func Files(root string) (map[string][]byte, error) {
	known, err := catalog.Load()
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	files := map[string][]byte{}
	for _, b := range Boards() {
		name := filepath.Join("dashboards", b.File+".json")
		if files[name], err = b.next(filepath.Join(root, name), known); err != nil {
			return nil, err
		}
	}
	files[filepath.Join("provisioning", "dashboards", "roles.yaml")] = roles(Boards())
	if files[filepath.Join("docs", "user", "dashboards.md")], err = gallery(Boards(), known); err != nil {
		return nil, err
	}
	return files, nil
}

var revisionLine = regexp.MustCompile(`(?m)^  "revision": (\d+),?$`)

// next is the board as it is in the file when nothing but the revision would change, else with the next one.
func (b Board) next(path string, known *catalog.Catalog) ([]byte, error) {
	before, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b.JSON(known, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("read dashboard: %w", err)
	}
	revision := int64(0)
	if found := revisionLine.FindSubmatch(before); found != nil {
		if revision, err = strconv.ParseInt(string(found[1]), 10, 32); err != nil {
			return nil, fmt.Errorf("read revision of %s: %w", path, err)
		}
	}
	same, err := b.JSON(known, revision)
	if err != nil || bytes.Equal(compact(same), compact(before)) {
		return same, err
	}
	return b.JSON(known, revision+1)
}

func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}
