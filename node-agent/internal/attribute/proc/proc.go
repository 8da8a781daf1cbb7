// Package proc says what a process is: its name, its user, since when it runs and in which control groups.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/prometheus/procfs"
)

// DefaultRoot is where the kernel shows its processes.
const DefaultRoot = "/proc"

// ErrGone says that there is no such process, or none any more.
var ErrGone = errors.New("the process has ended")

// Info is what a process is. What could not be read is absent.
type Info struct {
	PID     int
	Name    string // as the kernel knows it, longer where the command line continues it; never with arguments
	UID     string // number of the real user, "" when not known
	User    string // name of the user; the number where there is no name
	Start   uint64 // in clock ticks since the machine started; with PID it names a process for ever
	Cgroups []string
}

// Options of a Reader.
type Options struct {
	Root string // "" means DefaultRoot
	// Passwd is the file with the names of the host's users, "" for none: users are then numbers. A container's own file
	// would name the host's users wrongly.
	Passwd string
}

// Reader reads processes. It may be used by several goroutines.
type Reader struct {
	root  string
	fs    procfs.FS
	users *users
}

// New opens a tree like /proc.
func New(o Options) (*Reader, error) {
	if o.Root == "" {
		o.Root = DefaultRoot
	}
	tree, err := procfs.NewFS(o.Root)
	if err != nil {
		return nil, fmt.Errorf("open the tree of processes: %w", err)
	}
	return &Reader{root: o.Root, fs: tree, users: &users{path: o.Passwd}}, nil
}

// Boot is when the machine started.
func (r *Reader) Boot() (time.Time, error) {
	stat, err := r.fs.Stat()
	if err != nil {
		return time.Time{}, fmt.Errorf("read when the machine started: %w", err)
	}
	return time.Unix(int64(stat.BootTime), 0), nil
}

// Start is since when a process runs, in the ticks of Info. The error is ErrGone when it does not.
func (r *Reader) Start(pid int) (uint64, error) {
	p, err := r.fs.Proc(pid)
	if err != nil {
		return 0, absent(pid, err)
	}
	stat, err := p.Stat()
	if err != nil {
		return 0, absent(pid, err)
	}
	return stat.Starttime, nil
}

// Read tells what a process is. The error is ErrGone when there is no such process.
//
// Call it only when HostPIDs holds, for pids of the driver: they would else be taken for other processes.
func (r *Reader) Read(pid int) (Info, error) {
	p, err := r.fs.Proc(pid)
	if err != nil {
		return Info{}, absent(pid, err)
	}
	stat, err := p.Stat()
	if err != nil {
		return Info{}, absent(pid, err)
	}
	info := Info{PID: pid, Start: stat.Starttime, Name: clean(stat.Comm)}
	if len(stat.Comm) == longestComm {
		if line, err := p.CmdLine(); err == nil {
			info.Name = longer(info.Name, line)
		}
	}
	if status, err := p.NewStatus(); err == nil {
		info.UID = strconv.FormatUint(status.UIDs[0], 10)
		info.User = r.users.name(info.UID)
	}
	groups, err := p.Cgroups()
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, procfs.ErrFileParse) {
		return Info{}, absent(pid, err)
	}
	for _, g := range groups {
		info.Cgroups = append(info.Cgroups, g.Path)
	}
	return info, nil
}

// absent makes one error of the ways in which the kernel says that a process has ended.
func absent(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return fmt.Errorf("read process %d: %w", pid, err)
}

const (
	longestComm = 15 // the kernel keeps no more of a name
	maxName     = 64
)

// longer is the whole name of a program whose name the kernel cut, if its command line begins with it. Only the program's
// own name is taken: arguments may hold secrets. A program that writes its command line itself puts it all into the
// first argument, so that a blank ends the name too.
func longer(comm string, line []string) string {
	if len(line) == 0 {
		return comm
	}
	program, _, _ := strings.Cut(line[0], " ")
	program = clean(program[strings.LastIndexByte(program, '/')+1:])
	if len(program) > maxName || !strings.HasPrefix(program, comm) {
		return comm
	}
	return program
}

// clean makes a name fit for a label.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	return strings.TrimSpace(name)
}
