// Package release makes what is published: the plugin's archive, the agent's archives and packages, what they are made
// of, and sums of it all. The same sources and compilers give the same bytes, whenever it is done.
package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
)

// Dir is the folder of what is published, below the checkout.
const Dir = "release"

// tools is the module that makes packages and bills of materials.
const tools = "tools/release"

// release is one making of everything.
type release struct {
	builder build.Builder
	console *console.Console
	version string
	at      time.Time // the time of all that is in it
	out     string    // Dir
	work    string    // what lies there is made on the way
	left    []error   // why platforms were left out

	complete bool // nothing may be left out, and it must run on all systems it is for
}

// Make makes everything that this machine can make. With complete it fails where a platform must be left out; else it
// says so at the end.
func Make(ctx context.Context, root string, c *console.Console, complete bool) error {
	r := &release{builder: build.Builder{Root: root, Console: c}, console: c, out: filepath.Join(root, Dir), complete: complete}
	r.work = filepath.Join(r.builder.Cache(), "release")
	var err error
	if r.version, err = r.builder.Version(); err != nil {
		return err
	}
	if r.at, err = releaseTime(ctx, r.builder); err != nil {
		return err
	}
	for _, dir := range []string{r.out, r.work} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{r.builder.Packages, r.builder.Frontend, r.agents} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if complete && len(r.left) > 0 {
		return fmt.Errorf("not everything can be released from here: %w", errors.Join(r.left...))
	}
	if err := r.plugin(ctx); err != nil {
		return err
	}
	if err := writeSums(r.out); err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	return r.tell()
}

// releaseTime is $SOURCE_DATE_EPOCH, as reproducible builds have it, or else the time of the newest commit.
func releaseTime(ctx context.Context, b build.Builder) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = b.Output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, fmt.Errorf("find the time of the release; set SOURCE_DATE_EPOCH where there is no git: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the release, in seconds since 1970: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// tell lists what was made, and what was not.
func (r *release) tell() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	r.console.Print("\n%s/, as of %s:", Dir, r.at.Format(time.RFC3339))
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		r.console.Print("  %9.1f kB  %s", float64(info.Size())/1000, entry.Name())
	}
	for _, why := range r.left {
		r.console.Print("  LEFT OUT: %s", why)
	}
	return nil
}

// bill has the licences and the bill of materials written of programs, and of bundles where there are any.
func (r *release) bill(ctx context.Context, name string, programs []string, bundles, notices string) error {
	args := append(r.product("bill", name),
		"-sbom="+filepath.Join(r.out, name+"-"+r.version+".cdx.json"), "-notices="+notices, "-bundles="+bundles)
	for _, program := range programs {
		args = append(args, "-program="+program)
	}
	return r.builder.Tool(ctx, "licences and bill of materials of "+name, tools, args...)
}

func (r *release) product(command, name string) []string {
	return []string{command, "-root=" + r.builder.Root, "-name=" + name, "-version=" + r.version, "-time=" + r.at.Format(time.RFC3339)}
}
