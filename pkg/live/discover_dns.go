package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/go-kit/log"
	"github.com/grafana/dskit/dns"
	"github.com/grafana/dskit/dns/godns"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// FindByDNS looks a name up each time it is called. The name is written as Thanos does: "dns+host:port" for the
// addresses of a host, "dnssrv+name" for those of an SRV record's hosts, and "dnssrvnoa+name", or the record's name
// alone, for the hosts by their names, which is what certificates and patterns are about. resolver is the system's where
// it is nil. All agents found are in the cluster.
func FindByDNS(name, cluster string, resolver *net.Resolver) func(context.Context) ([]Target, []gpu.Notice, error) {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	lookup := dns.NewResolver(&godns.Resolver{Resolver: resolver}, log.NewNopLogger())
	kind, host := dns.GetQTypeName(name)
	if kind == "" {
		kind = string(dns.SRVNoA)
	}
	return func(ctx context.Context) ([]Target, []gpu.Notice, error) {
		addresses, err := lookup.Resolve(ctx, host, dns.QType(kind))
		if err != nil {
			return nil, nil, lookupError(err)
		}
		var targets []Target
		seen := map[string]bool{}
		odd := 0
		for _, address := range addresses {
			if at, port, err := net.SplitHostPort(address); err == nil {
				address = net.JoinHostPort(strings.TrimSuffix(at, "."), port)
			}
			t := Target{Cluster: cluster, Address: address}
			if _, _, err := t.hostPort(); err != nil {
				odd++
				continue
			}
			if !seen[address] {
				seen[address] = true
				targets = append(targets, t)
			}
		}
		slices.SortFunc(targets, func(a, b Target) int { return strings.Compare(a.Address, b.Address) })
		var notices []gpu.Notice
		if odd > 0 {
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
				"DNS has %d records for %s that name no host and port; correct them in the zone.", odd, host)})
		}
		if len(addresses) == 0 {
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
				"DNS has no records for %s: check the name in agents.dns of the data source's settings, and that the service has ready endpoints.", host)})
		}
		return targets, notices, nil
	}
}

// lookupError says what went wrong without the addresses of name servers.
func lookupError(err error) error {
	var lookup *net.DNSError
	switch {
	case !errors.As(err, &lookup):
		return fmt.Errorf("ask DNS: %w", err)
	case lookup.IsTimeout:
		return fmt.Errorf("DNS does not answer about %s", lookup.Name)
	}
	return fmt.Errorf("DNS could not look up %s (%s)", lookup.Name, lookup.Err)
}
