package release

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one file of an archive: a copy of another, or a text.
type file struct {
	name string      // in the archive, with slashes
	mode fs.FileMode // permissions only
	from string      // the file to copy, unless there is a text
	text []byte
}

func (f file) open() (io.ReadCloser, int64, error) {
	if f.from == "" {
		return io.NopCloser(strings.NewReader(string(f.text))), int64(len(f.text)), nil
	}
	in, err := os.Open(f.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// sorted are the files by name, so that an archive does not depend on the order of folders.
func sorted(files []file) ([]file, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	for i := 1; i < len(files); i++ {
		if files[i].name == files[i-1].name {
			return nil, fmt.Errorf("%s is there twice", files[i].name)
		}
	}
	return files, nil
}

// writeZip packs files into a zip archive. Equal files and times give equal bytes.
func writeZip(out io.Writer, files []file, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
		if err := copyFile(entry, f); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	return archive.Close()
}

// writeTar packs files into a compressed tar archive. Equal files and times give equal bytes.
func writeTar(out io.Writer, files []file, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		if err := addToTar(archive, f, at); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func addToTar(archive *tar.Writer, f file, at time.Time) error {
	in, size, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close()
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Size: size, ModTime: at.UTC(), Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return err
}

func copyFile(out io.Writer, f file) error {
	in, _, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

// pack writes an archive to a path.
func pack(path string, files []file, at time.Time, write func(io.Writer, []file, time.Time) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := write(out, files, at); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return out.Close()
}
