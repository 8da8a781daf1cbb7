package live

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseAllowListRefuses(t *testing.T) {
	for entry, text := range map[string]string{
		"http://gpu01":   "without scheme and path",
		"10.0.0.0/33":    "a range such as 10.0.0.0/8",
		"gpu01/metrics":  "without scheme and path",
		"gpu01:98470":    "write a port from 1 to 65535",
		"gpu01:":         "write a port from 1 to 65535",
		"10.0.0.0/8:0":   "write a port from 1 to 65535",
		"[fd00::/8]9847": "write a port from 1 to 65535",
		"[fd00::/8]:x":   "write a port from 1 to 65535",
		"fd00::/8:9847":  "[fd00::/8]:9847",
		"gpu/01:9847":    "without scheme and path",
		"gpu 01":         "write a host name",
		"gpu..example":   "write a host name",
		"user@gpu01":     "write a host name",
		"[gpu01":         "write a host name",
		"gpu01;gpu02":    "write a host name",
		"*.example.com.": "",
	} {
		list, err := ParseAllowList([]string{" ", entry})
		if text == "" {
			require.NoError(t, err)
			require.False(t, list.Empty())
			continue
		}
		require.ErrorContains(t, err, text, entry)
		require.ErrorContains(t, err, entry)
	}
}

func TestAllowListHosts(t *testing.T) {
	for _, tc := range []struct {
		entry, host string
		want        bool
	}{
		{"gpu01", "gpu01", true},
		{"gpu01", "GPU01", true},
		{"GPU01.", "gpu01", true},
		{"gpu01", "gpu01.", true},
		{"gpu01", "gpu011", false},
		{"gpu01", "gpu01.evil.example", false},
		{"gpu*", "gpu01", true},
		{"gpu*", "gpu01.evil.example", false},
		{"gpu-?.example.com", "gpu-1.example.com", true},
		{"*.example.com", "gpu01.example.com", true},
		{"*.example.com", "a.b.example.com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", ".example.com", false},
		{"*.example.com", "evilexample.com", false},
		{"*.example.com", "example.com.evil", false},
		{"*.gpu*.example.com", "n1.gpu7.example.com", true},
		{"*.gpu*.example.com", "n1.cpu7.example.com", false},
		{"*", "anything.at.all", true},
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.9.9.9/8", "10.1.2.3", true},
		{"10.0.0.0/8", "11.1.2.3", false},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true},
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
		{"fd00::/8", "fd12::1", true},
		{"[fd00::1]", "fd00::1", true},
		{"fe80::1", "fe80::1%eth0", true},
		{"*", "10.1.2.3", true},
		{"*", "127.0.0.1", false},
		{"*", "169.254.169.254", false},
		{"*", "::", false},
		{"gpu*", "10.1.2.3", false},
	} {
		list, err := ParseAllowList([]string{tc.entry})
		require.NoError(t, err)
		err = list.CheckHost(tc.host)
		require.Equal(t, tc.want, err == nil, "%s on %s: %v", tc.host, tc.entry, err)
	}
	require.Error(t, (*AllowList)(nil).CheckHost("gpu01"))
	require.True(t, (*AllowList)(nil).Empty())
}

// An entry with a port is for that port alone, whatever it leads to.
func TestAllowListPorts(t *testing.T) {
	list, err := ParseAllowList([]string{
		"10.0.0.0/8:9847", "*.gpu.example.com:9847", "[fd00::/8]:9847", "[fd00::1]:1234", "192.168.1.1:9848", "lab", "127.0.0.1:9847",
	})
	require.NoError(t, err)
	for _, tc := range []struct {
		host string
		port uint16
		text string
	}{
		{"10.1.2.3", 9847, ""},
		{"10.1.2.3", 22, "10.1.2.3 is among the allowed agents, but not at port 22: add the port"},
		{"n1.gpu.example.com", 9847, ""},
		{"fd00::2", 9847, ""},
		{"fd00::2", 1234, "not at port 1234"},
		{"fd00::1", 1234, ""},
		{"192.168.1.1", 9848, ""},
		{"192.168.1.1", 9847, "not at port 9847"},
		{"192.168.1.2", 9848, "192.168.1.2 is not among the allowed agents"},
		{"lab", 9847, ""},
		{"lab", 1, ""},
	} {
		err := list.checkAt(tc.host, tc.port, func(l *AllowList) error { return l.CheckHost(tc.host) })
		if tc.text == "" {
			require.NoError(t, err, tc.host)
			continue
		}
		require.ErrorContains(t, err, tc.text)
	}
	at := func(address string) error {
		to := netip.MustParseAddrPort(address)
		return list.checkAt("n1.gpu.example.com", to.Port(), func(l *AllowList) error { return l.checkAddress("n1.gpu.example.com", to.Addr()) })
	}
	require.NoError(t, at("172.16.0.1:9847"), "by its name")
	require.ErrorContains(t, at("172.16.0.1:9848"), "not at port 9848")
	require.NoError(t, at("127.0.0.1:9847"))
	require.ErrorContains(t, at("169.254.169.254:9847"), "which a host name does not allow")
	only, err := ParseAllowList([]string{"gpu01:9847"})
	require.NoError(t, err)
	require.False(t, only.Empty())
	require.Error(t, only.CheckHost("gpu01"), "at another port")
}

// What a name resolves to is decided by whoever runs its DNS, and may differ from one question to the next.
func TestAllowListAddresses(t *testing.T) {
	for _, tc := range []struct {
		entries       []string
		host, address string
		text          string
	}{
		{entries: []string{"*.example.com"}, host: "n1.example.com", address: "192.168.1.1"},
		{entries: []string{"10.0.0.0/8"}, host: "n1.example.com", address: "10.1.1.1"},
		{
			entries: []string{"10.0.0.0/8"}, host: "n1.example.com", address: "192.168.1.1",
			text: "n1.example.com (192.168.1.1) is not among the allowed agents",
		},
		{
			entries: []string{"*.example.com"}, host: "n1.example.com", address: "169.254.169.254",
			text: "n1.example.com leads to 169.254.169.254, which a host name does not allow: add 169.254.169.254 itself",
		},
		{entries: []string{"*"}, host: "n1.example.com", address: "::ffff:127.0.0.1", text: "n1.example.com leads to 127.0.0.1"},
		{
			entries: []string{"*"}, host: "169.254.169.254", address: "169.254.169.254",
			text: "169.254.169.254 is an address of a cloud's metadata, which a pattern for names does not allow: add 169.254.169.254 itself",
		},
		{entries: []string{"*"}, host: "n1.example.com", address: "0.0.0.0", text: "which a host name does not allow"},
		{entries: []string{"*", "127.0.0.0/8"}, host: "n1.example.com", address: "127.0.1.1"},
		{
			entries: []string{"0.0.0.0/0", "::/0"}, host: "n1.example.com", address: "127.0.0.1",
			text: "n1.example.com leads to 127.0.0.1, which a range as wide as 0.0.0.0/0 does not allow: add 127.0.0.1 itself",
		},
		{entries: []string{"0.0.0.0/0", "::/0"}, host: "n1.example.com", address: "10.1.1.1"},
		{entries: []string{"::/0"}, host: "::1", address: "::1", text: "::1 is an address of this machine or its network alone, which a range as wide as ::/0"},
		{entries: []string{"::/0"}, host: "n1", address: "fe80::1%eth0", text: "does not allow: add fe80::1 itself"},
		{entries: []string{"fe80::/10"}, host: "n1", address: "fe80::1%eth0"},
		{entries: []string{"169.254.0.0/16"}, host: "n1", address: "169.254.7.7"},
		{entries: []string{"169.254.0.0/16"}, host: "n1", address: "169.254.169.254", text: "a range as wide as 169.254.0.0/16 does not allow"},
		{entries: []string{"169.254.169.254"}, host: "n1", address: "169.254.169.254"},
		{entries: []string{"169.254.169.254"}, host: "n1", address: "::ffff:169.254.169.254"},
		{entries: []string{"100.64.0.0/10"}, host: "n1", address: "100.100.100.200", text: "does not allow"},
		{entries: []string{"100.64.0.0/10"}, host: "n1", address: "100.100.100.201"},
		{entries: []string{"fd00::/8"}, host: "n1", address: "fd00:ec2::254", text: "does not allow"},
		{entries: []string{"*", "::/0"}, host: "n1", address: "64:ff9b::a9fe:a9fe", text: "does not allow: add 64:ff9b::a9fe:a9fe itself"},
		{entries: []string{"*", "::/0"}, host: "n1", address: "64:ff9b::7f00:1", text: "does not allow"},
		{entries: []string{"*", "::/0"}, host: "n1", address: "2002:7f00:1::1", text: "does not allow"},
		{entries: []string{"*", "::/0"}, host: "n1", address: "::127.0.0.1", text: "does not allow"},
		{entries: []string{"*"}, host: "n1", address: "64:ff9b::a00:1"},
		{entries: []string{"*", "0.0.0.0/0"}, host: "n1", address: "255.255.255.255", text: "does not allow"},
		{entries: []string{"localhost"}, host: "localhost", address: "::1"},
		{entries: []string{"local*"}, host: "localhost", address: "::1", text: "which a host name does not allow"},
	} {
		list, err := ParseAllowList(tc.entries)
		require.NoError(t, err)
		err = list.checkAddress(tc.host, netip.MustParseAddr(tc.address))
		if tc.text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tc.text)
	}
}

// A proxy resolves names itself, so only what is written can be looked at.
func TestAllowListBehindAProxy(t *testing.T) {
	list, err := ParseAllowList([]string{"*.example.com", "gpu?", "10.0.0.0/8"})
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"n1.example.com": true, "gpu1": true, "10.1.2.3": true, "11.1.2.3": false, "evil.test": false, "169.254.169.254": false,
	} {
		require.Equal(t, want, list.CheckProxied(host) == nil, host)
	}
	require.ErrorContains(t, list.CheckProxied("evil.test"), "a range does not do, because the secure SOCKS proxy resolves names")
	all, err := ParseAllowList([]string{"*"})
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"n1": true, "2130706433": false, "0x7f000001": false, "0x7f.1": false, "127.1": false, "0177.0.0.01": false, "localhost": false, "LOCALHOST.": false,
		"gpu-1": true, "gpu.0xyz": true,
	} {
		require.Equal(t, want, all.CheckProxied(host) == nil, host)
	}
}

func TestAllowListCovers(t *testing.T) {
	list, err := ParseAllowList([]string{"*.dmz.example.com", "10.1.0.0/16", "fd00::/8"})
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"a.dmz.example.com": true, "a.example.com": false, "10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.2.3": false, "fd00::1%eth0": true,
		"10.1.2.3.evil.test": false, "": false,
	} {
		require.Equal(t, want, list.Covers(host), host)
	}
	require.False(t, (*AllowList)(nil).Covers("a"))
}

// The check is made on the way to the network: a name that passes leads nowhere else.
func TestGuardedDialLooksAtTheAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	dial := func(entries ...string) error {
		list, err := ParseAllowList(entries)
		require.NoError(t, err)
		require.NoError(t, list.CheckHost("localhost"), "the name alone passes")
		conn, err := guardedDial(list)(context.Background(), "tcp4", net.JoinHostPort("localhost", port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
	require.NoError(t, dial("localhost"))
	require.NoError(t, dial("127.0.0.0/8"))
	var denied *DeniedError
	require.ErrorAs(t, dial("*"), &denied)
	require.Equal(t, "127.0.0.1", denied.Address.String())
	require.ErrorAs(t, dial("10.0.0.0/8"), &denied)
}

func FuzzAllowListName(f *testing.F) {
	f.Add("*.example.com", "gpu01.example.com")
	f.Add("*", "")
	f.Add("*.*", "a.b.c")
	f.Fuzz(func(t *testing.T, pattern, host string) {
		list, err := ParseAllowList([]string{pattern})
		if err != nil {
			return
		}
		if list.CheckProxied(host) == nil && list.CheckHost(host) != nil {
			t.Errorf("%q lets %q pass a proxy only", pattern, host)
		}
	})
}
