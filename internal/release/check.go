package release

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/internal/build"
)

// Grafana unpacks an archive before it knows what is in it.
const (
	maxFileSize  = 128 << 20
	maxTotalSize = 512 << 20
	maxScript    = 2 << 20
)

// CheckPlugin looks at a plugin's archive as Grafana and its review do. The error lists everything that is wrong.
func CheckPlugin(archive, version string) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer func() { _ = reader.Close() }() // it was only read
	c := &checker{version: version, files: map[string][]byte{}}
	if err := c.read(reader.File); err != nil {
		return err
	}
	c.required()
	c.backends()
	c.plugins()
	c.scripts()
	return errors.Join(c.wrong...)
}

// checker is one look at an archive.
type checker struct {
	version string
	files   map[string][]byte // by name below the plugin's folder
	wrong   []error
}

func (c *checker) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// read takes the files in, and looks at their names, modes, times and sizes.
func (c *checker) read(entries []*zip.File) error {
	var total uint64
	var at time.Time
	for i, entry := range entries {
		name, below := strings.CutPrefix(entry.Name, appID+"/")
		if !below || path.Clean(entry.Name) != entry.Name {
			c.errorf("%s is not below %s/", entry.Name, appID)
			continue
		}
		if i == 0 {
			at = entry.Modified
		}
		if !entry.Modified.Equal(at) {
			c.errorf("%s has another time than the rest", name)
		}
		want := fs.FileMode(0o644)
		if strings.HasPrefix(path.Base(name), "gpx_") {
			want = 0o755
		}
		if entry.Mode() != want {
			c.errorf("%s has mode %v, not %v", name, entry.Mode(), want)
		}
		if total += entry.UncompressedSize64; entry.UncompressedSize64 > maxFileSize || total > maxTotalSize {
			return fmt.Errorf("%s makes the archive larger than Grafana would like", name)
		}
		content, err := readAll(entry)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if _, twice := c.files[name]; twice {
			c.errorf("%s is there twice", name)
		}
		c.files[name] = content
	}
	return nil
}

func readAll(entry *zip.File) ([]byte, error) {
	in, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxFileSize+1))
}

// required are the files that must be there and not be empty.
func (c *checker) required() {
	for _, name := range []string{
		"README.md", "CHANGELOG.md", "LICENSE", noticesFile, manifestFile,
		"module.js", "module.js.map", "datasource/module.js", "datasource/module.js.map", "panel/module.js", "panel/module.js.map",
	} {
		if len(c.files[name]) == 0 {
			c.errorf("%s is missing or empty", name)
		}
	}
	if !bytes.Contains(c.files["CHANGELOG.md"], []byte("\n## "+c.version)) {
		c.errorf("CHANGELOG.md says nothing about %s", c.version)
	}
	if !bytes.Contains(c.files[manifestFile], []byte(":pkg/main.go\n")) {
		c.errorf("%s does not list pkg/main.go", manifestFile)
	}
}

// backends looks whether there is an executable for each platform, and for no other, and whether it is for that.
func (c *checker) backends() {
	expected := map[string]bool{}
	for _, target := range pluginPlatforms() {
		name := backendName(target)
		expected[name] = true
		content, found := c.files[name]
		if !found {
			c.errorf("%s is missing", name)
			continue
		}
		if got, err := builtFor(content); err != nil {
			c.errorf("%s is no executable: %w", name, err)
		} else if got != target {
			c.errorf("%s is for %s", name, got)
		}
	}
	for name := range c.files {
		if strings.HasPrefix(path.Base(name), "gpx_") && !expected[name] {
			c.errorf("%s is for no platform that is released", name)
		}
	}
}

// builtFor is what an executable's header says about its platform.
func builtFor(content []byte) (build.Platform, error) {
	in := bytes.NewReader(content)
	if f, err := elf.NewFile(in); err == nil {
		switch f.Machine {
		case elf.EM_X86_64:
			return build.Platform{OS: "linux", Arch: "amd64"}, nil
		case elf.EM_AARCH64:
			return build.Platform{OS: "linux", Arch: "arm64"}, nil
		}
		return build.Platform{}, fmt.Errorf("for %s", f.Machine)
	}
	if f, err := macho.NewFile(in); err == nil {
		switch f.Cpu {
		case macho.CpuAmd64:
			return build.Platform{OS: "darwin", Arch: "amd64"}, nil
		case macho.CpuArm64:
			return build.Platform{OS: "darwin", Arch: "arm64"}, nil
		}
		return build.Platform{}, fmt.Errorf("for %s", f.Cpu)
	}
	f, err := pe.NewFile(in)
	if err != nil {
		return build.Platform{}, errors.New("neither ELF, Mach-O nor PE")
	}
	if f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 {
		return build.Platform{}, fmt.Errorf("for machine %#x", f.Machine)
	}
	return build.Platform{OS: "windows", Arch: "amd64"}, nil
}

// ofOneMachine are paths that source maps get where a build takes files from outside its checkout.
var ofOneMachine = regexp.MustCompile(`"(file://|/home/|/Users/|/root/|[A-Z]:\\\\)`)

// secret is how private keys begin.
var secret = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\\n[A-Za-z0-9+/]`)

// scripts looks at the bundles and at what their source maps tell.
func (c *checker) scripts() {
	for name, content := range c.files {
		switch {
		case strings.HasSuffix(name, ".js") && len(content) > maxScript:
			c.errorf("%s has %d bytes, at most %d", name, len(content), maxScript)
		case strings.HasSuffix(name, ".js") && bytes.Contains(content, []byte("eval(\"")):
			c.errorf("%s is of a build for development", name)
		case strings.HasSuffix(name, ".map") && ofOneMachine.Match(content):
			c.errorf("%s tells paths of the machine it was built on: %s", name, ofOneMachine.Find(content))
		case strings.HasSuffix(name, ".map") && secret.Match(content):
			c.errorf("%s holds a private key", name)
		}
	}
}
