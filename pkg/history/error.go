package history

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// Kind says what went wrong with a server, as far as it matters for what to do about it.
type Kind string

// The kinds of errors.
const (
	KindTimeout       Kind = "timeout"        // no answer within the endpoint's time limit
	KindUnreachable   Kind = "unreachable"    // no connection
	KindUnauthorized  Kind = "unauthorized"   // credentials missing, wrong or not enough
	KindNotPrometheus Kind = "not_prometheus" // something answers, but not with Prometheus' API
	KindBadQuery      Kind = "bad_query"      // the server does not accept the query
	KindThrottled     Kind = "throttled"      // the server asks to wait
	KindUnavailable   Kind = "unavailable"    // the server, or a proxy before it, cannot answer now
	KindIncomplete    Kind = "incomplete"     // the answer broke off
	KindCanceled      Kind = "canceled"       // whoever asked gave up
)

// Error is what one endpoint answered instead of data. Its text names the endpoint and says what to change; it never
// holds HTML or credentials.
type Error struct {
	Endpoint   string // the endpoint's id
	Status     int    // of HTTP, 0 when there was none
	Kind       Kind
	Message    string        // without the endpoint's id
	RetryAfter time.Duration // how long the server asks to wait, 0 when it does not say
	cause      error
}

// Error is the endpoint's id and the message.
func (e *Error) Error() string { return e.Endpoint + ": " + e.Message }

// Unwrap is the error of the transport, nil when the server itself said no.
func (e *Error) Unwrap() error { return e.cause }

// endpointErrors is the error when every endpoint failed.
type endpointErrors []error

func (f endpointErrors) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("none of %d servers answered: %s", len(f), strings.Join(texts, "; "))
}

func (f endpointErrors) Unwrap() []error { return f }

// joined is nil for no error, the error itself for one, and names all of several.
func joined(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return endpointErrors(errs)
}

// errSlow is the cause of a context that ended because the endpoint's own time limit was over.
var errSlow = errors.New("the endpoint's time limit is over")

// begunError is around what went wrong after an answer had begun.
type begunError struct{ error }

func (e begunError) Unwrap() error { return e.error }

// transportError explains why no whole answer came. ctx is the request's own context.
func (e *endpoint) transportError(ctx context.Context, err error) *Error {
	out := &Error{Endpoint: e.ID, Kind: KindUnreachable, cause: inner(err)}
	var (
		dns         *net.DNSError
		netError    net.Error
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		begun       begunError
	)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlow):
		out.Kind, out.Message = KindTimeout, e.slow()
	case errors.Is(cause, context.DeadlineExceeded):
		out.Kind, out.Message = KindTimeout, "the request's deadline passed before the server answered; narrow the time range or the scope"
	case ctx.Err() != nil:
		out.Kind, out.Message = KindCanceled, "the request was cancelled before the server answered"
	case errors.Is(err, errLarge):
		out.Kind = KindBadQuery
		out.Message = fmt.Sprintf("the answer is larger than %d MiB; narrow the time range or the scope, or raise the minimum step", e.maxAnswer>>20)
	case errors.Is(err, errCrowded):
		out.Kind = KindUnavailable
		out.Message = "the answers that are being read are too large together; narrow the time range or the scope, or raise the minimum step"
	case errors.Is(err, errEncoding):
		out.Kind, out.Message = KindNotPrometheus, err.Error()+", which was not asked for; look at the proxies between"
	case errors.As(err, &netError) && netError.Timeout():
		out.Kind, out.Message = KindTimeout, e.slow()
	case errors.As(err, &begun) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || isGzip(err):
		out.Kind, out.Message = KindIncomplete, incomplete
	case errors.As(err, &authority):
		out.Message = fmt.Sprintf("the certificate of %s is signed by an unknown authority; give its CA certificate in the endpoint's settings", e.host)
	case errors.As(err, &hostname):
		out.Message = fmt.Sprintf("the certificate of %s is for another name; set the endpoint's server name to one it is for", e.host)
	case errors.As(err, &certificate):
		out.Message = fmt.Sprintf("the certificate of %s is not valid: %s", e.host, certificate.Err)
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		out.Message = fmt.Sprintf("%s does not speak TLS; use http:// in the endpoint's URL", e.host)
	case errors.As(err, &dns):
		out.Message = fmt.Sprintf("the host %s is not known; check the endpoint's URL and the DNS of the Grafana server", dns.Name)
	case errors.Is(err, syscall.ECONNRESET):
		out.Message = fmt.Sprintf("%s ended the connection without an answer; look at the server's log and at the proxies between", e.host)
	case strings.Contains(err.Error(), "malformed HTTP"):
		out.Message = fmt.Sprintf("%s does not speak HTTP; check the host and the port of the endpoint's URL", e.host)
	case isRefused(err):
		out.Message = fmt.Sprintf("nothing listens at %s (connection refused); check that the server runs and that the endpoint's URL is right", e.host)
	default:
		out.Message = fmt.Sprintf("no connection to %s: %s", e.host, inner(err))
	}
	return out
}

const incomplete = "the answer is incomplete: the connection broke in the middle; try again, and look at the proxies between if it repeats"

func (e *endpoint) slow() string {
	return fmt.Sprintf("no answer within %s; narrow the time range or the scope, or raise the endpoint's timeout", e.Timeout)
}

// inner takes the URL that net/http puts around errors off: it is long and may hold credentials.
func inner(err error) error {
	type wrapped interface {
		Unwrap() error
		Timeout() bool
		Temporary() bool
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	for {
		w, ok := err.(wrapped) // each layer is taken off on purpose
		if !ok || w.Unwrap() == nil {
			return err
		}
		err = w.Unwrap()
	}
}
