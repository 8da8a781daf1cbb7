// Package target holds Mage targets that the Magefile imports under the name demo. They cannot be declared there: a
// file has either a target called demo or targets below demo.
package target

import (
	"context"
	"os"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/demo"
)

// Check starts the demo's stack on free ports and asks it every query of every bundled dashboard.
func Check(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	out := console.New(os.Stdout)
	if err := demo.Build(ctx, build.Builder{Root: root, Console: out}); err != nil {
		return err
	}
	return demo.WithStack(ctx, root, out, func(ctx context.Context, s *demo.Stack) error { return s.Check(ctx) })
}

// Panels prints what every panel of every bundled dashboard showed in each fleet, by the last check.
func Panels() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	return demo.PrintPanels(root, os.Stdout)
}
