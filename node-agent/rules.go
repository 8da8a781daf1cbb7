package main

import (
	"fmt"
	"io"

	"github.com/warpwatch/warpwatch/dashboards/rules"
	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func printRules(c config.Rules, stdout io.Writer) error {
	known, err := catalog.Load()
	if err != nil {
		return err
	}
	groups, err := rules.For(known, c.Exporter)
	if err != nil {
		return err
	}
	groups = rules.Of(groups, c.Kind)
	if c.Shadow {
		groups = rules.Shadow(groups)
	}
	flags := fmt.Sprintf("--exporter=%s --kind=%s --format=%s", c.Exporter, c.Kind, c.Format)
	if c.Shadow {
		flags += " --shadow"
	}
	head := fmt.Sprintf("# Written by `warpwatch-agent rules %s`, version %s. docs/user/alerting.md says what each alert means.\n", flags, versionName())
	return rules.Write(stdout, groups, c.Format, head)
}
