package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
)

// listen opens all addresses, or none.
func listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			errs := []error{fmt.Errorf("%w: choose another with --web.listen-address", err)}
			for _, open := range listeners {
				errs = append(errs, open.Close())
			}
			return nil, errors.Join(errs...)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// warnOpen says so when the network can read what the agent knows.
func warnOpen(listeners []net.Listener, log *slog.Logger) {
	for _, l := range listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			log.Warn("Everybody who can reach this address can read the GPUs' metrics; set --web.config.file or --web.bearer-token-file",
				"address", l.Addr().String())
		}
	}
}
