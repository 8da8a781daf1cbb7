package history

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// statusError explains an answer whose status is not 2xx. It never quotes HTML.
func (e *endpoint) statusError(resp *http.Response, body []byte) *Error {
	out := &Error{Endpoint: e.ID, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), e.now())}
	said := serverMessage(resp, body)
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		return e.redirectError(out, resp)
	case code == http.StatusUnauthorized && bytes.Contains(body[:min(len(body), 512)], []byte(noTenant)):
		out.Kind, out.Message = KindUnauthorized, "the server wants to know the tenant (401, no org id); add the header X-Scope-OrgID to the endpoint's headers"
		return out
	case code == http.StatusUnauthorized:
		out.Kind, out.Message = KindUnauthorized, "the server refused the credentials (401); check the endpoint's user, password or token"
	case code == http.StatusForbidden:
		out.Kind, out.Message = KindUnauthorized, "access is denied (403); the endpoint's credentials are not allowed to read here"
	case code == http.StatusProxyAuthRequired:
		out.Kind, out.Message = KindUnauthorized, "a proxy on the way asks for credentials (407); check the proxy settings of the Grafana server"
	case code == http.StatusTooManyRequests:
		out.Kind, out.Message = KindThrottled, "the server limits requests (429)"+wait(out.RetryAfter)
	case tooLong(code):
		out.Kind = KindBadQuery
		out.Message = fmt.Sprintf("the selection is too long for the server or a proxy (%d); select fewer values, or a regular expression like /gpu-.*/, and let the proxy pass POST", code)
	case isHTML(resp, body):
		out.Kind = KindNotPrometheus
		out.Message = fmt.Sprintf("answered %s with a web page instead of JSON", status)
		if code >= 500 {
			out.Kind = KindUnavailable
			out.Message += ", so a proxy answers in the server's place; check that the server behind it runs"
		} else {
			out.Message += "; " + checkPath
		}
	case code == http.StatusNotFound:
		out.Kind, out.Message = KindNotPrometheus, "there is no Prometheus API at this URL (404); "+checkPath
	case code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		out.Kind, out.Message = KindNotPrometheus, fmt.Sprintf("neither POST nor GET is allowed here (%d); %s", code, checkPath)
	case code == http.StatusBadRequest || code == http.StatusUnprocessableEntity:
		out.Kind, out.Message = KindBadQuery, explain(said)
		if said == "" {
			out.Message = "the server refused the query with " + status
		}
		return out
	default:
		out.Kind, out.Message = KindUnavailable, "the server answered "+status+wait(out.RetryAfter)
	}
	if said != "" {
		out.Message += "; it says: " + said
	}
	return out
}

// tooLong is whether the status means that the query itself is longer than the server or a proxy takes.
func tooLong(code int) bool {
	return code == http.StatusRequestURITooLong || code == http.StatusRequestEntityTooLarge || code == http.StatusRequestHeaderFieldsTooLarge
}

const checkPath = "check the endpoint's URL and its path (Mimir: …/prometheus, VictoriaMetrics cluster: …/select/0/prometheus)"

func (e *endpoint) redirectError(out *Error, resp *http.Response) *Error {
	out.Kind = KindNotPrometheus
	target, err := resp.Location()
	switch {
	case err != nil:
		out.Message = fmt.Sprintf("answered %d without saying where to go; %s", resp.StatusCode, checkPath)
	case looksLikeLogin(target.Path) && target.Hostname() == resp.Request.URL.Hostname():
		out.Kind = KindUnauthorized
		out.Message = fmt.Sprintf("redirects (%d) to a login page, %s; use a URL or credentials that need no login", resp.StatusCode, cited(resp, target.Path))
	case target.Hostname() == resp.Request.URL.Hostname() && target.Scheme != resp.Request.URL.Scheme:
		out.Message = fmt.Sprintf("redirects (%d) to %s://%s; begin the endpoint's URL like that", resp.StatusCode, target.Scheme, target.Host)
	case target.Host != resp.Request.URL.Host:
		out.Kind = KindUnauthorized
		out.Message = fmt.Sprintf("redirects to another host, %s, probably a login page; use a URL or credentials that need no login. "+
			"Redirects to other hosts are not followed, because they would be sent the credentials", cited(resp, target.Host))
	default:
		clean := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}
		out.Message = fmt.Sprintf("redirects (%d) to %s; use that address as the endpoint's URL, up to /api/v1", resp.StatusCode, cited(resp, clean.String()))
	}
	return out
}

// looksLikeLogin reports whether a path is one that people sign in at.
func looksLikeLogin(path string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToLower(path), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch part {
		case "login", "signin", "sign", "sso", "saml", "saml2", "oauth", "oauth2", "openid", "authorize", "auth", "cas":
			return true
		}
	}
	return false
}

// isExposition reports whether a body is what exporters are scraped for.
func isExposition(resp *http.Response, lower []byte) bool {
	media, parameters, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (media == "application/openmetrics-text" || media == "text/plain" && parameters["version"] != "") ||
		bytes.HasPrefix(lower, []byte("# help ")) || bytes.HasPrefix(lower, []byte("# type "))
}

// answerError explains a 2xx answer that is no Prometheus answer. err is why it could not be decoded, nil when it could.
func (e *endpoint) answerError(resp *http.Response, body []byte, err error) *Error {
	out := &Error{Endpoint: e.ID, Status: resp.StatusCode, Kind: KindNotPrometheus, cause: err}
	lower := bytes.ToLower(body[:min(len(body), 4096)])
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		out.Message = "answered with nothing; " + checkPath
	case isHTML(resp, body) && bytes.Contains(lower, []byte(`href="/metrics"`)) || isExposition(resp, lower):
		out.Message = "this is an exporter, not Prometheus; use the URL of the Prometheus server that scrapes it"
	case isHTML(resp, body) && (bytes.Contains(lower, []byte("login")) || bytes.Contains(lower, []byte("sign in")) || bytes.Contains(lower, []byte("password"))):
		out.Kind, out.Message = KindUnauthorized, "answered with a login page instead of JSON; use a URL or credentials that need no login"
	case isHTML(resp, body):
		out.Message = fmt.Sprintf("answered %d with a web page instead of JSON; %s", resp.StatusCode, checkPath)
	case errors.Is(err, errTruncated):
		out.Kind, out.Message = KindIncomplete, incomplete
	case bytes.Contains(lower, []byte(`"resulttype":"streams"`)):
		out.Message = "this is Loki, not Prometheus; use the URL of the Prometheus server"
	case err != nil:
		out.Message = fmt.Sprintf("the answer is not what Prometheus sends (%s); %s", cited(resp, err.Error()), checkPath)
	default:
		out.Message = "the answer is JSON, but not what Prometheus sends; " + checkPath
	}
	return out
}

// refusal explains an answer that was sent with a good status and yet reports an error.
func (e *endpoint) refusal(resp *http.Response, errorType, message string) *Error {
	kind := KindBadQuery
	switch errorType {
	case "timeout", "unavailable", "internal", "canceled":
		kind = KindUnavailable
	}
	message = explain(cited(resp, message))
	if message == "" {
		message = strings.TrimSpace("the server refused the query and does not say why " + cited(resp, errorType))
	}
	return &Error{Endpoint: e.ID, Status: resp.StatusCode, Kind: kind, Message: message}
}

// serverMessage is the error of a Prometheus answer, "" when the body is something else.
func serverMessage(resp *http.Response, body []byte) string {
	var answer struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	if answer.Error == "" {
		answer.Error = answer.Message
	}
	return cited(resp, answer.Error)
}

// clean makes a server's text one line of bounded length without control characters.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
	const limit = 1000
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return strings.TrimSpace(text)
}

func isHTML(resp *http.Response, body []byte) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && (media == "text/html" || media == "application/xhtml+xml") {
		return true
	}
	return bytes.HasPrefix(bytes.TrimSpace(body[:min(len(body), 512)]), []byte("<"))
}

// retryAfter reads the header in both its forms. Waits beyond an hour are taken as an hour.
func retryAfter(header string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), time.Hour)
}

func wait(d time.Duration) string {
	if d <= 0 {
		return "; try again later"
	}
	return fmt.Sprintf("; try again in %s", d.Round(time.Second))
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

func isGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
