package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the agent's packages for Debian and for RPM, as node-agent/deploy/packages/nfpm.yaml describes them.
func packages(_ context.Context, args []string) error {
	var p product
	set := flag.NewFlagSet("packages", flag.ContinueOnError)
	done := flags(set, &p)
	config := set.String("config", "", "nfpm's configuration, whose paths are below the checkout")
	staged := set.String("staged", "", "a folder with the program and what else is made for the release; $STAGED in the configuration")
	arch := set.String("arch", "", "the architecture, in Go's words")
	glibc := set.String("glibc", "", "the least version of the C library that the program runs with")
	out := set.String("out", "", "the folder for the packages")
	if err := set.Parse(args); err != nil {
		return err
	}
	if err := done(); err != nil {
		return err
	}
	// The configuration names files of the checkout by relative paths.
	if err := os.Chdir(p.root); err != nil {
		return err
	}
	variables := map[string]string{"NAME": p.name, "VERSION": p.version, "ARCH": *arch, "STAGED": *staged, "GLIBC": *glibc}
	parsed, err := nfpm.ParseFileWithEnvMapping(*config, func(name string) string { return variables[name] })
	if err != nil {
		return fmt.Errorf("read %s: %w", *config, err)
	}
	for format, packager := range map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM} {
		if err := write(parsed, format, packager, p, *out); err != nil {
			return fmt.Errorf("make the %s package: %w", format, err)
		}
	}
	return nil
}

func write(config nfpm.Config, format string, packager nfpm.Packager, p product, dir string) error {
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	// The time and the machine would otherwise be this one's.
	info.MTime, info.RPM.BuildHost = p.at, "localhost"
	for _, content := range info.Contents {
		if content.FileInfo != nil {
			content.FileInfo.MTime = p.at
		}
	}
	info = nfpm.WithDefaults(info)
	file, err := os.Create(filepath.Join(dir, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := packager.Package(info, file); err != nil {
		return err
	}
	return file.Close()
}
