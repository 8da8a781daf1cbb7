package replay

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	good = "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n1\"} 87\n"
	// A label value with a bare quote, and a family whose type is given twice: both were seen in the field.
	unescaped = "a{b=\"c\"} 1\nx{model=\"12\" rack\"} 1\n"
	twice     = "# TYPE x gauge\nx 1\n# TYPE x gauge\nx 2\n"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	}
	return dir
}

func get(t *testing.T, h http.Handler, path string) (int, string, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(body), w.Header().Get("Content-Type")
}

func TestFilesAreServedVerbatim(t *testing.T) {
	dir := folder(t, map[string]string{"one.prom": good, "two {x}.metrics": good + "\n# a comment\n", ".hidden": "no"})
	files, err := Load(dir, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	h := Handler(files)
	code, body, kind := get(t, h, "/one/metrics")
	assert.Equal(t, 200, code)
	assert.Equal(t, good, body)
	assert.Contains(t, kind, "text/plain; version=0.0.4")
	_, body, _ = get(t, h, "/two%20%7Bx%7D/metrics")
	assert.Equal(t, good+"\n# a comment\n", body)
	_, body, _ = get(t, h, "/")
	assert.Contains(t, body, `<a href="/two%20%7Bx%7D/metrics">two {x}</a>`)
	code, _, _ = get(t, h, "/metrics")
	assert.Equal(t, 404, code)
}

func TestOneFile(t *testing.T) {
	dir := folder(t, map[string]string{"one.prom": good})
	files, err := Load(filepath.Join(dir, "one.prom"), false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for _, path := range []string{"/metrics", "/one/metrics"} {
		_, body, _ := get(t, Handler(files), path)
		assert.Equal(t, good, body)
	}
}

func TestBadFilesAreNamedWithTheirLine(t *testing.T) {
	dir := folder(t, map[string]string{"a.prom": good, "b.prom": unescaped, "c.prom": twice, "d.prom": "", "a.txt": good})
	_, err := Load(dir, false, slog.New(slog.DiscardHandler))
	require.Error(t, err)
	for _, want := range []string{
		"b.prom: text format parsing error in line 2", "c.prom: text format parsing error in line 3", "d.prom: it holds no metrics",
		"a.txt: another file is called a, too",
	} {
		assert.ErrorContains(t, err, want)
	}

	dir = folder(t, map[string]string{"b.prom": unescaped})
	files, err := Load(dir, true, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, body, _ := get(t, Handler(files), "/metrics")
	assert.Equal(t, unescaped, body)
}

func TestNothingToServe(t *testing.T) {
	_, err := Load(t.TempDir(), false, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "holds no files")
	_, err = Load("/nowhere", false, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "no such file")
}
