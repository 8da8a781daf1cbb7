package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Kind says what is wrong with a node's connection.
type Kind string

// The kinds of trouble.
const (
	KindDenied       Kind = "denied"       // the allow-list does not have it
	KindUnauthorized Kind = "unauthorized" // the agent does not accept the credentials
	KindUnreachable  Kind = "unreachable"  // no connection
	KindTimeout      Kind = "timeout"      // no answer, or none any more
	KindTLS          Kind = "tls"          // no common ground on encryption or certificates
	KindVersion      Kind = "version"      // a stream that this build cannot read
	KindGarbage      Kind = "garbage"      // something else than an agent answers
	KindClosed       Kind = "closed"       // the agent ended the connection
	KindSilent       Kind = "silent"       // connected, but no samples come
	KindDisorder     Kind = "disorder"     // samples in another order than they were taken
	KindSlow         Kind = "slow"         // connected, but samples are left out, or come late
)

// Error is trouble with one node. Its text names the node, what happened, and what to do about it. It never holds
// credentials or what an unknown server wrote.
type Error struct {
	Target Target
	Kind   Kind
	What   string // what happened, without the node
	Remedy string // what to change; "" when nothing but waiting helps
	Err    error  // the cause, for errors.Is; not part of the text
}

func (e *Error) Error() string {
	text := "agent " + e.Target.String() + ": " + e.What
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// state is the state that a node is in because of the error.
func (e *Error) state() State {
	switch e.Kind {
	case KindDenied, KindUnauthorized, KindTLS, KindVersion, KindGarbage:
		return Refused
	case KindClosed, KindSilent, KindDisorder:
		return Stale
	case KindSlow:
		return Lagging
	case KindUnreachable, KindTimeout:
	}
	return Unreachable
}

// Reasons why the hub itself ends a connection.
var (
	errHandshake = errors.New("no schema in time")
	errIdle      = errors.New("neither samples nor heartbeats")
)

// garbageError is something that an agent does not send.
type garbageError struct{ what string }

func (e *garbageError) Error() string { return e.what }

// disorderError is a sample that came after one that follows it.
type disorderError struct{ got, after uint64 }

func (e *disorderError) Error() string {
	return fmt.Sprintf("it sends sample %d after sample %d", e.got, e.after)
}

// classify makes an Error of what ended an attempt. response is the answer to the handshake, nil when there was none;
// got is how far it came.
func classify(t Target, err error, response *http.Response, got stage) *Error {
	e := &Error{Target: t, Err: err}
	e.Kind, e.What, e.Remedy = explain(err, response, got)
	return e
}

// stage is how far an attempt came.
type stage int

const (
	dialling    stage = iota // no TCP connection
	handshaking              // a connection, but no stream
	streaming                // a WebSocket
)

func explain(err error, response *http.Response, got stage) (kind Kind, what, remedy string) {
	var (
		denied  *DeniedError
		version *wire.VersionError
		garbage *garbageError
		mixed   *disorderError
		closed  wsutil.ClosedError
	)
	switch {
	case errors.As(err, &denied):
		return KindDenied, denied.Error(), ""
	case errors.As(err, &version):
		return KindVersion, version.Error(), ""
	case errors.As(err, &garbage):
		return KindGarbage, garbage.what, "check that the address is a warpwatch-agent's"
	case errors.As(err, &mixed):
		return KindDisorder, mixed.Error(), "connecting again"
	case response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return explainStatus(response)
	case errors.Is(err, errHandshake):
		return KindTimeout, "it accepts connections but sends no stream", "look at the agent's log"
	case errors.Is(err, errIdle):
		return KindTimeout, "neither samples nor heartbeats come any more", "connecting again"
	case errors.As(err, &closed):
		return KindClosed, fmt.Sprintf("it ended the stream (%d%s)", closed.Code, printable(closed.Reason)), "connecting again"
	}
	if kind, what, remedy, ok := explainTLS(err); ok {
		return kind, what, remedy
	}
	return explainNetwork(err, got)
}

// explainStatus is for an HTTP answer instead of a stream.
func explainStatus(response *http.Response) (kind Kind, what, remedy string) {
	status := fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return KindUnauthorized, "it does not accept the credentials (" + status + ")",
			"set user and password or token of the agents in the data source's settings to what the agent's --web.config.file asks for"
	case code == http.StatusNotFound:
		return KindGarbage, "it answers, but has no stream (" + status + ")",
			"check that the address is a warpwatch-agent's and not another exporter's"
	case code == http.StatusBadRequest:
		return KindGarbage, "it does not understand the request (" + status + ")",
			"set the agents' scheme to https in the data source's settings if they use TLS"
	case code >= 300 && code < 400:
		return KindGarbage, "it redirects elsewhere (" + status + redirectHost(response) + "), which is not followed",
			"use the agent's own address"
	case code >= 500:
		return KindUnreachable, "it or a proxy before it is not available (" + status + ")", ""
	case strings.Contains(response.Header.Get("Content-Type"), "html"):
		return KindGarbage, "it answers with a web page (" + status + ")", "check that the address is a warpwatch-agent's"
	default:
		return KindGarbage, "it answers, but not with a stream (" + status + ")", "check that the address is a warpwatch-agent's"
	}
}

func redirectHost(response *http.Response) string {
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || to.Hostname() == "" {
		return ""
	}
	return " to" + printable(to.Hostname())
}

func explainTLS(err error) (kind Kind, what, remedy string, ok bool) {
	var (
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		alert     tls.AlertError
		header    tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &header):
		return KindTLS, "it does not speak TLS", "set the agents' scheme to http in the data source's settings", true
	case errors.As(err, &authority):
		return KindTLS, "its certificate is signed by an authority that is not known",
			"add the authority's certificate for the agents in the data source's settings", true
	case errors.As(err, &name):
		return KindTLS, "its certificate is for another name", "set the agents' server name in the data source's settings", true
	case errors.As(err, &invalid):
		return KindTLS, "its certificate is not valid (" + invalid.Error() + ")", "renew it", true
	case errors.As(err, &verify):
		return KindTLS, "its certificate was not accepted", "check the agents' TLS settings of the data source", true
	case errors.As(err, &alert):
		return KindTLS, "it ended the TLS handshake (" + alert.Error() + ")", "check the agents' TLS settings of the data source", true
	}
	return "", "", "", false
}

func explainNetwork(err error, got stage) (kind Kind, what, remedy string) {
	var (
		lookup  *net.DNSError
		network net.Error
	)
	const running = "check that warpwatch-agent runs there and that no firewall is in between"
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return KindUnreachable, "its name is not known to DNS", "check the address, or let the agent advertise one with --web.advertise-address"
	case errors.As(err, &lookup):
		return KindUnreachable, "its name could not be looked up in DNS", ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return KindUnreachable, "it refuses connections", running
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return KindUnreachable, "there is no route to it", running
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return KindTimeout, "it does not answer", running
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return KindClosed, "the connection broke", "connecting again"
	case errors.Is(err, wsutil.ErrMessageTooLarge):
		return KindGarbage, "it sends messages larger than any agent's", "check that the address is a warpwatch-agent's"
	case errors.Is(err, ws.ErrHandshakeBadProtocol):
		// Go's servers of TLS do that.
		return KindGarbage, "it does not answer in HTTP/1.1", "set the agents' scheme to https in the data source's settings if they use TLS"
	case got == streaming:
		return KindGarbage, "its stream breaks the WebSocket protocol", "check that the address is a warpwatch-agent's, and the proxies between"
	case got == handshaking:
		return KindGarbage, "what answers there does not speak HTTP", "check that the address is a warpwatch-agent's"
	}
	return KindUnreachable, "no connection", running
}

// printable is the part of a foreign text that can be shown, after a blank.
func printable(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(clean); len(runes) > 120 {
		clean = string(runes[:120]) + "…"
	}
	if clean == "" {
		return ""
	}
	return " " + clean
}
