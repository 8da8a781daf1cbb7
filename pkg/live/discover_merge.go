package live

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// found is what a source named.
type found struct {
	source  string
	targets []Target
}

// merge lists each agent once, however many sources name it. An agent is where its address leads: one that is in no
// cluster is the one of a cluster with the same address. What one source leaves open another fills in; where they
// contradict each other, the first counts.
func merge(lists []found) []Target {
	var merged []Target
	at := map[string][]int{} // indices in merged by address
	for _, l := range lists {
		for _, t := range l.targets {
			key := normalAddress(t.Address)
			i := slices.IndexFunc(at[key], func(i int) bool {
				has := merged[i].Cluster
				return has == t.Cluster || has == "" || t.Cluster == ""
			})
			if i < 0 {
				t.Found = l.source
				at[key] = append(at[key], len(merged))
				merged = append(merged, t)
				continue
			}
			known := &merged[at[key][i]]
			known.Cluster = cmp.Or(known.Cluster, t.Cluster)
			known.Node = cmp.Or(known.Node, t.Node)
			known.Scheme = cmp.Or(known.Scheme, t.Scheme)
			if !slices.Contains(strings.Split(known.Found, ", "), l.source) {
				known.Found += ", " + l.source
			}
		}
	}
	return merged
}

// normalAddress is how an address is written that means the same as others.
func normalAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(ip.Unmap().String(), port)
	}
	return net.JoinHostPort(normalName(host), port)
}
