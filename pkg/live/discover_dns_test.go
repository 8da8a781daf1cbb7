package live

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// nameServer is a DNS server on loopback with a zone that can change.
type nameServer struct {
	mu      sync.Mutex
	records map[string][]string // by "NAME TYPE", in the form of a zone file
	failure int                 // answered instead, when not 0
}

func (n *nameServer) set(records map[string][]string, failure int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records, n.failure = records, failure
}

func (n *nameServer) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := new(dns.Msg)
	answer.SetReply(question)
	answer.Authoritative = true
	asked := question.Question[0]
	known := false
	for key, lines := range n.records {
		name, kind, _ := strings.Cut(key, " ")
		if !strings.EqualFold(name, asked.Name) {
			continue
		}
		known = true
		if kind != dns.TypeToString[asked.Qtype] {
			continue
		}
		for _, line := range lines {
			record, err := dns.NewRR(name + " 30 IN " + kind + " " + line)
			if err != nil {
				panic(err)
			}
			answer.Answer = append(answer.Answer, record)
		}
	}
	if !known {
		answer.Rcode = dns.RcodeNameError
	}
	if n.failure != 0 {
		answer.Rcode, answer.Answer = n.failure, nil
	}
	_, tcp := w.RemoteAddr().(*net.TCPAddr)
	if !tcp {
		answer.Truncate(512)
	}
	_ = w.WriteMsg(answer) // the resolver asks again where it does not come
}

// serveDNS starts a server, and makes a resolver that asks it and nobody else.
func serveDNS(t *testing.T) (*nameServer, *net.Resolver) {
	t.Helper()
	n := &nameServer{}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	listener, err := net.Listen("tcp", packets.LocalAddr().String())
	require.NoError(t, err)
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // the last to run
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: n}, {Listener: listener, Handler: n}} {
		ready := make(chan struct{})
		server.NotifyStartedFunc = func() { close(ready) }
		running.Go(func() { _ = server.ActivateAndServe() }) // ends with Shutdown
		<-ready
		t.Cleanup(func() { require.NoError(t, server.Shutdown()) })
	}
	return n, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, packets.LocalAddr().String())
	}}
}

func TestFindByDNS(t *testing.T) {
	server, resolver := serveDNS(t)
	server.set(map[string][]string{
		"_agents._tcp.gpu.test. SRV": {"0 0 9847 n2.gpu.test.", "0 0 9848 n1.gpu.test.", "0 0 9847 n2.gpu.test."},
		"n1.gpu.test. A":             {"10.0.0.1"},
		"n2.gpu.test. A":             {"10.0.0.2"},
		"n2.gpu.test. AAAA":          {"fd00::2"},
		"empty.gpu.test. TXT":        {"nothing"},
	}, 0)
	for _, test := range []struct {
		name   string
		want   []string
		notice string
	}{
		{name: "_agents._tcp.gpu.test", want: []string{"n1.gpu.test:9848", "n2.gpu.test:9847"}},
		{name: "dnssrvnoa+_agents._tcp.gpu.test.", want: []string{"n1.gpu.test:9848", "n2.gpu.test:9847"}},
		{name: "dnssrv+_agents._tcp.gpu.test.", want: []string{"10.0.0.1:9848", "10.0.0.2:9847", "[fd00::2]:9847"}},
		{name: "dnssrv+_agents._tcp.gpu.test.:1234", want: []string{"10.0.0.1:1234", "10.0.0.2:1234", "[fd00::2]:1234"}},
		{name: "dns+n2.gpu.test.:9847", want: []string{"10.0.0.2:9847", "[fd00::2]:9847"}},
		{name: "dns+gone.gpu.test.:9847", notice: "DNS has no records for gone.gpu.test.:9847: check the name"},
		{name: "dnssrv+_gone._tcp.gpu.test.", notice: "DNS has no records"},
		{name: "dns+empty.gpu.test.:9847", notice: "DNS has no records"},
	} {
		targets, notices, err := FindByDNS(test.name, "north", resolver)(t.Context())
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, addresses(targets), test.name)
		for _, target := range targets {
			require.Equal(t, "north", target.Cluster)
		}
		if test.notice == "" {
			require.Empty(t, notices, test.name)
		} else {
			require.Contains(t, texts(notices), test.notice)
		}
	}
}

// Records come and go, and a server that fails takes nothing away.
func TestFindByDNSFollowsTheZone(t *testing.T) {
	server, resolver := serveDNS(t)
	find := FindByDNS("_agents._tcp.gpu.test.", "", resolver)
	server.set(map[string][]string{"_agents._tcp.gpu.test. SRV": {"0 0 9847 n1.gpu.test."}}, 0)
	f := NewFinder([]Source{{Name: "dns", Every: time.Nanosecond, Find: find}})
	defer f.Close()
	targets, _, err := f.Targets(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"n1.gpu.test:9847"}, addresses(targets))

	server.set(nil, dns.RcodeServerFailure)
	targets, notices, err := f.Targets(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"n1.gpu.test:9847"}, addresses(targets))
	require.Contains(t, texts(notices), "Agents cannot be looked for by dns: DNS could not look up _agents._tcp.gpu.test. (server misbehaving); the 1 that it named")
	require.NotContains(t, texts(notices), "127.0.0.1", "the name server is nobody's business")

	var many []string
	for i := range 300 {
		many = append(many, "0 0 9847 n"+strings.Repeat("x", i%40)+string(rune('a'+i%26))+string(rune('a'+i/26))+".gpu.test.")
	}
	server.set(map[string][]string{"_agents._tcp.gpu.test. SRV": many}, 0)
	targets, _, err = f.Targets(t.Context())
	require.NoError(t, err)
	require.Len(t, targets, 300, "an answer too large for a packet comes by TCP")
}

func TestFindByDNSEndsWithItsContext(t *testing.T) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := FindByDNS("_agents._tcp.gpu.test.", "", resolver)(ctx)
	require.Error(t, err)
}

func FuzzFindByDNSName(f *testing.F) {
	for _, name := range []string{"dns+a:1", "dnssrv+_a._tcp.b", "a+b+c", "+", "dns+http://a:1", "dns+[::1]:1"} {
		f.Add(name)
	}
	refused := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}
	f.Fuzz(func(t *testing.T, name string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		targets, _, err := FindByDNS(name, "", refused)(ctx)
		for _, target := range targets {
			if _, _, bad := target.hostPort(); bad != nil || err != nil {
				t.Errorf("%q: %v, %v", name, target, err)
			}
		}
	})
}
