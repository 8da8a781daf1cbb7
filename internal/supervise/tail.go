package supervise

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBytes is how much of the end of a log is looked at.
const tailBytes = 16 << 10

// Tail is the last lines of a log, indented, under a line that names the file.
func Tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("  (no log: %v)", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return fmt.Sprintf("  (no log: %v)", err)
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return fmt.Sprintf("  (no log: %v)", err)
	}
	all := strings.Split(string(bytes.TrimSpace(text)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return fmt.Sprintf("  end of %s:\n    %s", path, strings.Join(all, "\n    "))
}
