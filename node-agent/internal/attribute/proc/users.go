package proc

import (
	"bufio"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	maxPasswd = 4 << 20 // bytes read of the file
	maxUsers  = 1 << 16
)

// users names users by a file like /etc/passwd, which is read again when it changed.
type users struct {
	path string

	mu    sync.Mutex
	at    time.Time // modification of the file that was read
	size  int64
	names map[string]string // by number
}

// name is the user's name, or the number when there is none.
func (u *users) name(uid string) string {
	if u.path == "" {
		return uid
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refresh()
	if name, ok := u.names[uid]; ok {
		return name
	}
	return uid
}

// refresh reads the file if it changed. What was read stays when the file cannot be read any more.
func (u *users) refresh() {
	stat, err := os.Stat(u.path)
	if err != nil || stat.ModTime().Equal(u.at) && stat.Size() == u.size {
		return
	}
	f, err := os.Open(u.path)
	if err != nil {
		return
	}
	defer f.Close()
	u.names, u.at, u.size = parsePasswd(io.LimitReader(f, maxPasswd)), stat.ModTime(), stat.Size()
}

// parsePasswd reads "name:x:number:…" lines. Of several names for a number the first counts, as for the system.
func parsePasswd(r io.Reader) map[string]string {
	names := map[string]string{}
	scanner := bufio.NewScanner(r)
	for scanner.Scan() && len(names) < maxUsers {
		fields := strings.SplitN(scanner.Text(), ":", 4)
		if len(fields) < 4 || fields[0] == "" || len(fields[0]) > maxName {
			continue
		}
		if _, known := names[fields[2]]; !known {
			names[fields[2]] = clean(fields[0])
		}
	}
	return names
}
