// Command preview hosts the built plugin without Grafana, for demo and tests only.
//
// It starts the data source's executable and speaks the plugin SDK's gRPC protocol to it, as Grafana does, serves the few of
// Grafana's HTTP and Live endpoints that the plugin's browser code calls, and a page that renders the dashboards from their
// JSON. It has no users, stores nothing, and listens on loopback addresses only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// options are the command line.
type options struct {
	dist        string // the built app, with the data source below it
	datasources string // a provisioning file, or a folder of them
	dashboards  string // a folder of dashboards' JSON
	page        string // the built page
	listen      string // host:port on a loopback address
	verbose     bool
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run serves until the process is told to stop; its result is the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	opts, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "preview:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, opts, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "preview:", err)
		return 1
	}
	return 0
}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("preview", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.dist, "dist", "dist", "folder of the built plugin")
	flags.StringVar(&o.datasources, "datasources", "provisioning/datasources", "data source provisioning file, or a folder of them")
	flags.StringVar(&o.dashboards, "dashboards", "dist/dashboards", "folder of dashboards (JSON)")
	flags.StringVar(&o.page, "page", ".cache/preview", "folder of the built page (npx webpack -c preview/page/webpack.config.js)")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:3000", "loopback address and port to listen on")
	flags.BoolVar(&o.verbose, "verbose", false, "log the plugin's debug messages and the browsers' connections")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: all options are flags, see --help", flags.Arg(0))
	}
	return o, checkLoopback(o.listen)
}

// checkLoopback refuses an address that other machines could reach: the preview has no log-in.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("read --listen %q: %w; give host:port, for example 127.0.0.1:3000", address, err)
	}
	if !isLoopbackHost(host) {
		return fmt.Errorf("--listen %q is not a loopback address: the preview has no log-in and serves this machine only, use 127.0.0.1 or [::1]", address)
	}
	return nil
}

// isLoopbackHost reports whether a host name without its port means this machine.
func isLoopbackHost(host string) bool {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// serve starts plugin, Live and HTTP, prints one line when ready, and stops them in reverse order when ctx ends.
func serve(ctx context.Context, opts options, stdout, stderr io.Writer) error {
	level := hclog.Info
	if opts.verbose {
		level = hclog.Debug
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "preview", Level: level, Output: stderr})

	listener, err := net.Listen("tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; choose another port with --listen", opts.listen, err)
	}
	defer listener.Close()
	url := "http://" + listener.Addr().String()

	host, err := newHost(opts, url, log)
	if err != nil {
		return err
	}
	if err := host.start(ctx); err != nil {
		return err
	}
	defer host.stop()

	server := &http.Server{Handler: host.handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(stdout, "preview ready at %s\n", url)

	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", url, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop serving %s: %w", url, err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", url, err)
	}
	return nil
}
