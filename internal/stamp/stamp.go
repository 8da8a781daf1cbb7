// Package stamp remembers what a build step was made from, so that it runs again only when that changed.
package stamp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Stamp is the memory of one step: a file that holds the hash of its inputs.
type Stamp struct {
	File    string   // where the hash is kept
	Outputs []string // files the step makes; the step is due when one of them is missing
	Inputs  []string // files and folders the step reads, folders with all that is in them
	Extra   []string // anything else that decides the result: versions, flags
}

// Due reports whether the step must run, and returns the hash to hand to Done afterwards.
func (s Stamp) Due() (due bool, hash string, err error) {
	hash, err = s.hash()
	if err != nil {
		return false, "", err
	}
	for _, out := range s.Outputs {
		if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
			return true, hash, nil
		} else if err != nil {
			return false, "", err
		}
	}
	last, err := os.ReadFile(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return true, hash, nil
	}
	if err != nil {
		return false, "", fmt.Errorf("read stamp: %w", err)
	}
	return strings.TrimSpace(string(last)) != hash, hash, nil
}

// Done records that the step ran on the inputs that had this hash.
func (s Stamp) Done(hash string) error {
	if err := os.MkdirAll(filepath.Dir(s.File), 0o755); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	if err := os.WriteFile(s.File, []byte(hash+"\n"), 0o644); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	return nil
}

func (s Stamp) hash() (string, error) {
	sum := sha256.New()
	for _, extra := range s.Extra {
		fmt.Fprintf(sum, "extra %q\n", extra)
	}
	for _, input := range s.Inputs {
		if err := addTree(sum, input); err != nil {
			return "", fmt.Errorf("look for changes: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// addTree adds a file, or the files of a folder in the order of their names. An input that does not exist counts as
// such, so that its appearance is a change.
func addTree(sum io.Writer, root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(sum, "absent %q\n", path)
			return nil
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "node_modules":
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		return addFile(sum, path)
	})
}

func addFile(sum io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(sum, "file %q\n", path)
	_, err = io.Copy(sum, f)
	return err
}
