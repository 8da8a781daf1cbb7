package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func sample(t *testing.T) []file {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []file{{name: "top/b", mode: 0o755, from: path}, {name: "top/a/c.txt", mode: 0o644, text: []byte("a text")}}
}

// packed are the bytes of an archive whose files were given in either order, at another place and with other times.
func packed(t *testing.T, write func(io.Writer, []file, time.Time) error, backwards bool) []byte {
	t.Helper()
	files := sample(t)
	if backwards {
		slices.Reverse(files)
		if err := os.Chtimes(files[1].from, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := write(&out, files, time.Unix(1_700_000_000, 0).In(time.FixedZone("elsewhere", 3600))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestArchivesAreTheSameAgain(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []file, time.Time) error{"zip": writeZip, "tar": writeTar} {
		if !bytes.Equal(packed(t, write, false), packed(t, write, true)) {
			t.Errorf("%s: the order or the times of files made a difference", name)
		}
	}
}

func TestZipHoldsModesAndTime(t *testing.T) {
	content := packed(t, writeZip, false)
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range archive.File {
		got[f.Name] = f.Mode().String() + " " + f.Modified.UTC().Format(time.RFC3339)
	}
	want := map[string]string{"top/a/c.txt": "-rw-r--r-- 2023-11-14T22:13:20Z", "top/b": "-rwxr-xr-x 2023-11-14T22:13:20Z"}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %q, want %q", name, got[name], want[name])
		}
	}
}

func TestTarHoldsContentAndOwner(t *testing.T) {
	compressed, err := gzip.NewReader(bytes.NewReader(packed(t, writeTar, false)))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(compressed)
	got := map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = header.FileInfo().Mode().String() + " " + header.Uname + " " + string(content)
	}
	if got["top/b"] != "-rwxr-xr-x root a program" || got["top/a/c.txt"] != "-rw-r--r-- root a text" {
		t.Errorf("got %v", got)
	}
}

func TestAFileIsPackedOnce(t *testing.T) {
	twice := []file{{name: "a", text: []byte("1")}, {name: "a", text: []byte("2")}}
	if err := writeZip(io.Discard, twice, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "a is there twice") {
		t.Errorf("got %v", err)
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b": "", "a": "abc", sumsFile: "of before"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	// Of FIPS 180, for "abc" and for nothing.
	want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if string(got) != want {
		t.Errorf("got\n%s", got)
	}
}
