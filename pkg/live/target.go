package live

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Target is where the agent of a node is.
type Target struct {
	Cluster string // "" when the node is in none; it wins over what the agent says
	Node    string // "" for an address in the settings, until its agent has said what it is called
	Address string // "host:port"
	Scheme  string // "http" or "https"; "" is http
	Found   string // the sources that name it, such as "prometheus, static"; "" when that is not said
}

// String names the target in messages: "gpu01 (10.0.0.1:9847)". An address that is not one is not repeated, because
// it may hold a password.
func (t Target) String() string {
	address := t.Address
	if _, _, err := t.hostPort(); err != nil {
		address = "address not readable"
	}
	if t.Node == "" {
		return address
	}
	return t.Node + " (" + address + ")"
}

// hostPort is the address in its parts. It makes sure that the address is only that: it ends up in a URL.
func (t Target) hostPort() (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(t.Address)
	if err != nil {
		return "", 0, errors.New("its address is not of the form host:port")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errors.New("its address has a port that is not a number from 1 to 65535")
	}
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return !isHostRune(r) }) {
		return "", 0, errors.New("its address holds a host name with characters that no host name has")
	}
	if strings.ContainsAny(host, ":%") && !isAddress(host) {
		return "", 0, errors.New("its address holds an IPv6 address that is not one")
	}
	return host, uint16(n), nil
}

func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:%", r)
}

// place is what makes two targets the same agent.
type place struct {
	cluster, scheme, address string
}

func (t Target) place() place {
	scheme := t.Scheme
	if scheme == "" {
		scheme = "http"
	}
	return place{t.Cluster, scheme, t.Address}
}

// State of the connection to a node.
type State string

// The states of a node.
const (
	Idle        State = "idle"        // nobody looks at it
	Connecting  State = "connecting"  // first attempt under way
	Connected   State = "connected"   // samples come in
	Lagging     State = "lagging"     // they come in later than they should, or not all of them
	Stale       State = "stale"       // samples stopped coming; what is held grows old
	Refused     State = "refused"     // one side will not talk to the other until somebody changes something
	Unreachable State = "unreachable" // no connection; tried again by itself
)

// Streams reports whether samples come in.
func (s State) Streams() bool { return s == Connected || s == Lagging }

// NodeStatus is what is known about a node and its connection.
type NodeStatus struct {
	Target
	State State
	Since time.Time // when State began; zero for a node that was never tried
	Err   error     // an *Error when State is lagging, stale, refused or unreachable; for an idle node the last one there was

	AgentVersion string // these are of the last schema, zero before the first
	Source       string // "nvml" or "simulate"
	Period       time.Duration
	MinPeriod    time.Duration // how far apart samples are at least where readers wish it; 0 where wishes are not heard
	Devices      int

	ClockOffset time.Duration // agent's clock minus the plugin's, as measured
	Correction  time.Duration // what of it is taken out of the samples' times
	LastSeen    time.Time     // when the newest sample came, or the schema; zero before the first
	Drops       Drops
}

// Drops counts samples of a node that are not in its series, since it was connected to.
type Drops struct {
	Missed   uint64 // never came: left out by the agent because the connection was slow, or out of its ring
	Repeated uint64 // came again
	// Reordered came before others that they follow. Such a stream is ended, and what is missing asked for again.
	Reordered uint64
	Late      uint64 // their time was not after the one before
	Future    uint64 // their time was further ahead than the clock's offset explains
	Unheard   uint64 // are in its series, but subscribers here were too slow for them; counted for each
}

func (d Drops) String() string {
	return fmt.Sprintf("missed %d, repeated %d, reordered %d, late %d, future %d, unheard %d", d.Missed, d.Repeated, d.Reordered, d.Late, d.Future, d.Unheard)
}
