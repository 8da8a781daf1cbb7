// Command release writes what comes with the plugin and the agent, besides the programs themselves: the bill of
// materials, the licences of what they are made of, and the agent's packages. It is a module of its own, so that the
// product does not depend on what makes packages.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	commands := map[string]func(context.Context, []string) error{"bill": bill, "packages": packages}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprintln(os.Stderr, "usage: release bill|packages [flags]")
		return 2
	}
	if err := commands[args[0]](ctx, args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release "+args[0]+":", err)
		return 1
	}
	return 0
}

// product is what is released, and when.
type product struct {
	root    string // the checkout
	name    string
	version string
	at      time.Time
}

// flags are those that every command has. The returned function is called after parsing.
func flags(set *flag.FlagSet, p *product) (done func() error) {
	set.StringVar(&p.root, "root", "", "the checkout")
	set.StringVar(&p.name, "name", "", "what is released")
	set.StringVar(&p.version, "version", "", "its version")
	at := set.String("time", "", "when, in the form of RFC 3339")
	return func() error {
		for name, value := range map[string]string{"root": p.root, "name": p.name, "version": p.version} {
			if value == "" {
				return fmt.Errorf("-%s is missing", name)
			}
		}
		var err error
		p.at, err = time.Parse(time.RFC3339, *at)
		if err != nil {
			return fmt.Errorf("-time: %w", err)
		}
		p.at = p.at.UTC()
		return nil
	}
}

// list is a flag that may be given several times.
type list []string

// String is the flag as it was given.
func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds a value.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}
