package live

import (
	"net/netip"
	"slices"
)

// isSpecial reports whether there are other services at an address than agents. An IPv6 address that stands for an
// IPv4 one is judged by that, too.
func isSpecial(address netip.Addr) bool {
	if inside, ok := embedded(address); ok && isSpecial(inside) {
		return true
	}
	return isMetadata(address) || slices.ContainsFunc(specialBlocks(), func(b netip.Prefix) bool { return b.Contains(address) })
}

// specialBlocks are this machine, its own network, everybody and nobody.
func specialBlocks() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"),
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("::/128"),
		netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("ff00::/8"), netip.MustParsePrefix("255.255.255.255/32"),
	}
}

// isMetadata knows where clouds tell a machine its credentials: AWS, Azure and GCP alike, ECS, Alibaba, Oracle, and Azure's host.
func isMetadata(address netip.Addr) bool {
	switch address.String() {
	case "169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
		"100.100.100.200", "192.0.0.192", "168.63.129.16":
		return true
	}
	inside, ok := embedded(address)
	return ok && isMetadata(inside)
}

// means reports whether who listed a range wanted a special address in it: the range is that address, or in the block
// that makes it special.
func means(r netip.Prefix, address netip.Addr) bool {
	if r.IsSingleIP() {
		return true
	}
	return !isMetadata(address) && slices.ContainsFunc(specialBlocks(), func(b netip.Prefix) bool {
		return b.Contains(r.Addr()) && r.Bits() >= b.Bits()
	})
}

// embedded is the IPv4 address that an IPv6 one leads to: by NAT64, by 6to4, or written in its last four bytes.
func embedded(address netip.Addr) (netip.Addr, bool) {
	if !address.Is6() || address.Is4In6() {
		return netip.Addr{}, false
	}
	bytes := address.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(address):
	case netip.MustParsePrefix("2002::/16").Contains(address):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	case netip.MustParsePrefix("::/96").Contains(address) && !address.IsUnspecified() && !address.IsLoopback():
	default:
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(bytes[12:16])), true
}

// kindOf says in a message what is at a special address.
func kindOf(address netip.Addr) string {
	if isMetadata(address) {
		return "an address of a cloud's metadata"
	}
	return "an address of this machine or its network alone"
}
