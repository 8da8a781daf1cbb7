package release

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/internal/build"
)

const agentName = "warpwatch-agent"

// agentArchitectures are those of nodes with NVIDIA GPUs; all run Linux.
func agentArchitectures() []string { return []string{"amd64", "arm64"} }

// agents makes archives and packages of the agent for each architecture that there is a C compiler for. NVML is a C library.
func (r *release) agents(ctx context.Context) error {
	var programs []string
	for _, arch := range agentArchitectures() {
		program := filepath.Join(r.work, arch, agentName)
		err := r.builder.ReleaseAgent(ctx, arch, program)
		if errors.Is(err, build.ErrNoCompiler) {
			r.left = append(r.left, fmt.Errorf("the agent: %w", err))
			continue
		}
		if err != nil {
			return err
		}
		programs = append(programs, program)
	}
	if len(programs) == 0 {
		return nil
	}
	notices := filepath.Join(r.work, noticesFile)
	if err := r.bill(ctx, agentName, programs, "", notices); err != nil {
		return err
	}
	for _, program := range programs {
		if err := r.agent(ctx, filepath.Dir(program), notices); err != nil {
			return err
		}
	}
	return nil
}

// agent packs what lies in a folder that is named for its architecture.
func (r *release) agent(ctx context.Context, staged, notices string) error {
	arch := filepath.Base(staged)
	program := filepath.Join(staged, agentName)
	glibc, err := leastGlibc(program)
	if err != nil {
		return err
	}
	if r.complete && newer(glibc, newestGlibc) {
		return fmt.Errorf("the agent for linux_%s needs version %s of the C library, and must run with %s: release it from an older system, such as Ubuntu 22.04",
			arch, glibc, newestGlibc)
	}
	if err := r.stage(staged, notices); err != nil {
		return fmt.Errorf("gather the agent's files: %w", err)
	}
	top := fmt.Sprintf("%s-%s-linux-%s", agentName, r.version, arch)
	files := []file{
		{name: agentName, mode: 0o755, from: program},
		{name: noticesFile, mode: 0o644, from: notices},
	}
	for name, from := range map[string]string{
		"LICENSE":                "LICENSE",
		agentName + ".service":   "node-agent/deploy/" + agentName + ".service",
		"agent.yaml":             "node-agent/deploy/packages/agent.yaml",
		"README.md":              "docs/user/agent.md",
		"agent-configuration.md": "docs/user/agent-configuration.md",
		"agent-metrics.md":       "docs/user/agent-metrics.md",
		"workload-metrics.md":    "docs/user/workload-metrics.md",
		"python/warpwatch.py":    "node-agent/python/warpwatch.py",
		"slurm/prolog.sh":        "node-agent/deploy/slurm/prolog.sh",
		"slurm/epilog.sh":        "node-agent/deploy/slurm/epilog.sh",
	} {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		files = append(files, file{name: name, mode: mode, from: filepath.Join(r.builder.Root, filepath.FromSlash(from))})
	}
	for i := range files {
		files[i].name = path.Join(top, files[i].name)
	}
	if err := pack(filepath.Join(r.out, top+".tar.gz"), files, r.at, writeTar); err != nil {
		return err
	}
	args := append(r.product("packages", agentName), "-config=node-agent/deploy/packages/nfpm.yaml", "-staged="+staged, "-arch="+arch,
		"-glibc="+glibc, "-out="+r.out)
	return r.builder.Tool(ctx, "agent packages for linux_"+arch, tools, args...)
}

// stage puts beside the program what packages hold in another form than the repository.
func (r *release) stage(dir, notices string) error {
	text, err := os.ReadFile(filepath.Join(r.builder.Root, "node-agent", "deploy", agentName+".service"))
	if err != nil {
		return err
	}
	unit, err := packagedUnit(string(text))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, agentName+".service"), []byte(unit), 0o644); err != nil {
		return err
	}
	licences, err := os.ReadFile(notices)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, noticesFile), licences, 0o644)
}

// packagedUnit is systemd's unit for where packages put the program. How to install it by hand is left out.
func packagedUnit(unit string) (string, error) {
	head, rest, found := strings.Cut(unit, "\n")
	if !found || !strings.HasPrefix(head, "# Put the binary into ") {
		return "", errors.New("the unit does not begin with how to install it any more")
	}
	const byHand = "ExecStart=/usr/local/bin/"
	if !strings.Contains(rest, byHand) {
		return "", fmt.Errorf("the unit does not say %q any more", byHand)
	}
	return strings.Replace(rest, byHand, "ExecStart=/usr/bin/", 1), nil
}

// newestGlibc is the newest version of the C library that a released agent may need: RHEL 9 has 2.34, Ubuntu 22.04 has 2.35.
const newestGlibc = "2.34"

// leastGlibc is the least version of the C library that a program runs with.
func leastGlibc(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("read what the agent needs: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", fmt.Errorf("read what the agent needs: %w", err)
	}
	least := ""
	for _, symbol := range symbols {
		version, of := strings.CutPrefix(symbol.Version, "GLIBC_")
		if of && newer(version, least) {
			least = version
		}
	}
	if least == "" {
		return "", fmt.Errorf("%s does not say which C library it needs", program)
	}
	return least, nil
}

// newer compares versions such as 2.34 and 2.4. Any is newer than none.
func newer(a, b string) bool { return slices.Compare(numbers(a), numbers(b)) > 0 }

func numbers(version string) []int {
	var all []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return all
		}
		all = append(all, n)
	}
	return all
}
