package live

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// AllowList says which agents may be connected to. Addresses of agents come from label values, which whoever can
// write to Prometheus chooses; without a list a data source could be pointed at any host that Grafana reaches.
//
// An entry is a host name, a pattern for one, an IP address, or a CIDR range. In a pattern a leading "*." stands for
// any number of labels, any other "*" for part of one label, and "*" alone for every host. With ":9847" after it an entry
// is for that port alone, else for all; what has colons itself is in brackets then, as in "[fd00::/8]:9847". A nil or empty
// list allows nothing.
//
// A name is allowed by an entry that matches it, or when the address it leads to is in a listed range. The address is
// looked at when the connection is made, for each attempt, so that a name which leads elsewhere by then is of no use.
// There are other services than agents on loopback, link-local, multicast and unspecified addresses and on those of a
// cloud's metadata. A name's entry alone never leads there (but "localhost" to itself), nor does a range that reaches
// beyond them, such as 0.0.0.0/0; metadata is reached only where its very address is listed. An IPv6 address that stands
// for an IPv4 one counts as that.
type AllowList struct {
	names  []string // lower case, without the trailing dot
	ranges []netip.Prefix
	// ports are the ports that entries name, each with the entries for it and those for all ports.
	ports map[uint16]*AllowList
}

// ParseAllowList reads the entries. The error names the entry and says what is accepted.
func ParseAllowList(entries []string) (*AllowList, error) {
	list := &AllowList{ports: make(map[uint16]*AllowList)}
	for _, entry := range entries {
		text := strings.TrimSpace(entry)
		if text == "" {
			continue
		}
		text, port, ok := cutPort(text)
		if !ok {
			return nil, fmt.Errorf("allow-list entry %q: write a port from 1 to 65535 after the colon, such as gpu01:9847", entry)
		}
		into := list
		if port != 0 {
			if list.ports[port] == nil {
				list.ports[port] = &AllowList{}
			}
			into = list.ports[port]
		}
		if err := into.add(text); err != nil {
			return nil, fmt.Errorf("allow-list entry %q: %w", entry, err)
		}
	}
	for _, at := range list.ports {
		at.names, at.ranges = append(at.names, list.names...), append(at.ranges, list.ranges...)
	}
	return list, nil
}

// add takes an entry without its port.
func (l *AllowList) add(text string) error {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		address = address.WithZone("").Unmap()
		l.ranges = append(l.ranges, netip.PrefixFrom(address, address.BitLen()))
		return nil
	}
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return errors.New("write a host, an IP address or a range such as 10.0.0.0/8 or [fd00::/8]:9847, without scheme and path")
		}
		l.ranges = append(l.ranges, prefix.Masked())
		return nil
	}
	name := normalName(text)
	if !isNamePattern(name) {
		return errors.New("write a host name such as gpu01.example.com or *.example.com")
	}
	l.names = append(l.names, name)
	return nil
}

// cutPort is an entry without its port, which is 0 where it has none. It is false for a port that is none.
func cutPort(entry string) (rest string, port uint16, ok bool) {
	var digits string
	if inside, after, closed := strings.Cut(strings.TrimPrefix(entry, "["), "]"); closed && entry[0] == '[' && strings.Contains(inside, ":") {
		if after == "" {
			return inside, 0, true
		}
		rest, digits, ok = inside, strings.TrimPrefix(after, ":"), after[0] == ':'
	} else if strings.Count(entry, ":") == 1 && !strings.Contains(entry, "://") {
		rest, digits, ok = strings.Cut(entry, ":")
	} else {
		return entry, 0, true
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return rest, uint16(n), ok && err == nil && n > 0
}

// at is the list for a port.
func (l *AllowList) at(port uint16) *AllowList {
	if l != nil && l.ports[port] != nil {
		return l.ports[port]
	}
	return l
}

// checkAt makes a check on the list for a port. Its error says when another port would do.
func (l *AllowList) checkAt(host string, port uint16, check func(*AllowList) error) error {
	err := check(l.at(port))
	if err == nil || l == nil {
		return err
	}
	for _, other := range l.ports {
		if check(other) == nil {
			return &DeniedError{Host: host, port: port}
		}
	}
	return err
}

func isNamePattern(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return !(isHostRune(r) || r == '*' || r == '?') || r == ':' || r == '%'
		}) {
			return false
		}
	}
	return true
}

func normalName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// Empty reports whether the list allows nothing.
func (l *AllowList) Empty() bool {
	return l == nil || len(l.names) == 0 && len(l.ranges) == 0 && len(l.ports) == 0
}

// Covers reports whether an entry is about what is written: a name that a pattern matches, or an address that is listed
// or in a range. Where a name leads does not count.
func (l *AllowList) Covers(host string) bool {
	if l.Empty() {
		return false
	}
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.WithZone("").Unmap()
		if slices.ContainsFunc(l.ranges, func(r netip.Prefix) bool { return r.Contains(address) }) {
			return true
		}
	}
	return l.matchesName(host)
}

// CheckProxied is CheckHost for a connection through a proxy that resolves names itself: nobody looks at the address
// that a name leads to, so a range is of no use to it, and what a resolver may take for an address is no name.
func (l *AllowList) CheckProxied(host string) error {
	if err := l.CheckHost(host); err != nil || isAddress(host) {
		return err
	}
	if !l.matchesName(host) || endsInNumber(host) || normalName(host) == "localhost" && !l.lists("localhost") {
		return &DeniedError{Host: host, proxied: true}
	}
	return nil
}

// endsInNumber is how browsers tell an IPv4 address in disguise, such as 2130706433, 0x7f.1 or 127.1.
func endsInNumber(host string) bool {
	name := normalName(host)
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// CheckHost says whether a connection to the host may be tried. A name that only a range may allow passes here; its
// address is checked when it is dialled.
func (l *AllowList) CheckHost(host string) error {
	if l.Empty() {
		return &DeniedError{Host: host, empty: true}
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return l.checkAddress(host, address)
	}
	if l.matchesName(host) || len(l.ranges) > 0 {
		return nil
	}
	return &DeniedError{Host: host}
}

// checkAddress says whether the address that a host led to may be connected to.
func (l *AllowList) checkAddress(host string, address netip.Addr) error {
	address = address.WithZone("").Unmap()
	special := isSpecial(address)
	denied := &DeniedError{Host: host, Address: address}
	for _, r := range l.ranges {
		if !r.Contains(address) {
			continue
		}
		if !special || means(r, address) {
			return nil
		}
		denied.special, denied.wide = true, r
	}
	if !l.matchesName(host) {
		return denied
	}
	if address.IsLoopback() && normalName(host) == "localhost" && l.lists("localhost") {
		return nil
	}
	if special {
		denied.special = true
		return denied
	}
	return nil
}

func (l *AllowList) lists(name string) bool {
	for _, entry := range l.names {
		if entry == name {
			return true
		}
	}
	return false
}

func (l *AllowList) matchesName(host string) bool {
	host = normalName(host)
	for _, pattern := range l.names {
		if pattern == "*" || matchName(pattern, host) {
			return true
		}
	}
	return false
}

func matchName(pattern, host string) bool {
	if rest, ok := strings.CutPrefix(pattern, "*."); ok {
		if extra := strings.Count(host, ".") - strings.Count(rest, "."); extra >= 1 {
			parts := strings.SplitN(host, ".", extra+1)
			return parts[0] != "" && matchName(rest, parts[extra])
		}
		return false
	}
	want, have := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// DeniedError is a host, or the address that it led to, which the allow-list does not have.
type DeniedError struct {
	Host    string
	Address netip.Addr // invalid when the name alone decided

	empty, special, proxied bool
	port                    uint16       // that is not allowed where others are; 0: all are the same
	wide                    netip.Prefix // the range that has the address but does not mean it; invalid for none
}

func (e *DeniedError) Error() string {
	by := "a pattern for names"
	if !isAddress(e.Host) {
		by = "a host name"
	}
	if e.wide.IsValid() {
		by = "a range as wide as " + e.wide.String()
	}
	switch {
	case e.empty:
		return fmt.Sprintf("no agent may be connected to yet: add %s, a pattern such as *.example.com, or a range such as 10.0.0.0/8 to the allowed agents in the data source's settings", e.Host)
	case e.port != 0:
		return fmt.Sprintf("%s is among the allowed agents, but not at port %d: add the port to them in the data source's settings, or let the agent listen on one that is there", e.Host, e.port)
	case e.proxied:
		return fmt.Sprintf("%s is not among the allowed agents: add it or a pattern for its name to them in the data source's settings; a range does not do, because the secure SOCKS proxy resolves names", e.Host)
	case e.special && isAddress(e.Host):
		return fmt.Sprintf("%s is %s, which %s does not allow: add %[1]s itself to the allowed agents in the data source's settings, if an agent is there", e.Host, kindOf(e.Address), by)
	case e.special:
		return fmt.Sprintf("%s leads to %s, which %s does not allow: add %[2]s itself to the allowed agents in the data source's settings, if an agent is there", e.Host, e.Address, by)
	case e.Address.IsValid() && e.Address.String() != e.Host:
		return fmt.Sprintf("%s (%s) is not among the allowed agents: add the name, the address, or a range to them in the data source's settings", e.Host, e.Address)
	}
	return fmt.Sprintf("%s is not among the allowed agents: add it, or a pattern or range that it is in, to them in the data source's settings", e.Host)
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
