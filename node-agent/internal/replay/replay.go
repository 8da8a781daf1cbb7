// Package replay serves files of metrics as the exporters that wrote them would, byte for byte.
package replay

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// File is one exposition.
type File struct {
	Name string // without folder and ending
	Path string
	Body []byte
}

// Load reads a folder's files, or one file. Each must be what Prometheus can read, unless allowInvalid; the error names
// every file and line that is not.
func Load(path string, allowInvalid bool, log *slog.Logger) ([]File, error) {
	paths, err := list(path)
	if err != nil {
		return nil, err
	}
	var files []File
	var errs []error
	for _, p := range paths {
		body, err := os.ReadFile(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("read metrics: %w", err))
			continue
		}
		if err := check(body); err != nil {
			err = fmt.Errorf("read %s: %w", p, err)
			if !allowInvalid {
				errs = append(errs, err)
				continue
			}
			log.Warn("Serving a file that Prometheus cannot read", "err", err)
		}
		name := strings.TrimSuffix(filepath.Base(p), filepath.Ext(p))
		if slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			errs = append(errs, fmt.Errorf("read %s: another file is called %s, too", p, name))
			continue
		}
		files = append(files, File{Name: name, Path: p, Body: body})
	}
	return files, errors.Join(errs...)
}

// list is path itself, or the files in it but hidden ones.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("read metrics: folder %s holds no files", path)
	}
	return paths, nil
}

// check parses an exposition. Its error tells the line.
func check(body []byte) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return err
	}
	if len(families) == 0 {
		return errors.New("it holds no metrics")
	}
	return nil
}

// Handler serves each file at /<name>/metrics, a lone one at /metrics, too, and a list of them at /.
func Handler(files []File) http.Handler {
	// Not a ServeMux: it would take braces in a file's name for wildcards.
	bodies := map[string][]byte{}
	var index strings.Builder
	index.WriteString("<!DOCTYPE html>\n<title>Warpwatch replay</title>\n<h1>Replayed metrics</h1>\n<ul>\n")
	for _, f := range files {
		path := "/" + f.Name + "/metrics"
		bodies[path] = f.Body
		fmt.Fprintf(&index, "<li><a href=\"%s\">%s</a></li>\n",
			html.EscapeString((&url.URL{Path: path}).String()), html.EscapeString(f.Name))
	}
	index.WriteString("</ul>\n")
	if len(files) == 1 {
		bodies["/metrics"] = files[0].Body
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
			return
		case ok:
			w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			body = []byte(index.String())
		default:
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body) // a scraper that went away needs no answer
	})
}
