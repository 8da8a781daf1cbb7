package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"
)

type tenantKey struct{}

// tenant is a user as Prometheus knows them.
type tenant struct {
	id     string      // tells one from another, and says nothing about them
	header http.Header // what Grafana forwards of them
}

// withTenant marks a request with the identity that is forwarded to Prometheus for its user, so that what a server
// shows one user is not shown to another. Without forwarded credentials all users are one.
func withTenant(ctx context.Context, headers http.Header) context.Context {
	hash := sha256.New()
	forwarded := http.Header{}
	for _, name := range []string{
		backend.OAuthIdentityTokenHeaderName, backend.OAuthIdentityIDTokenHeaderName, backend.CookiesHeaderName, backend.GrafanaUserSignInTokenHeaderName,
	} {
		if value := headers.Get(name); value != "" {
			forwarded.Set(name, value)
			hash.Write([]byte(name + "\xff" + value + "\xff"))
		}
	}
	if len(forwarded) == 0 {
		return ctx
	}
	return context.WithValue(ctx, tenantKey{}, tenant{hex.EncodeToString(hash.Sum(nil)), forwarded})
}

func tenantOf(ctx context.Context) string {
	t, _ := ctx.Value(tenantKey{}).(tenant)
	return t.id
}

// errNobody is that there is no identity to forward.
var errNobody = errors.New("the endpoint forwards the identity of whoever asks, and this request has none: alert rules, public dashboards, the search for " +
	"agents and users who did not sign in by OAuth have none; give the endpoint credentials of its own for these")

// needsTenant lets nothing be asked without the identity of a user.
func needsTenant(ctx context.Context) error {
	t, _ := ctx.Value(tenantKey{}).(tenant)
	if t.header.Get(backend.OAuthIdentityTokenHeaderName) == "" && t.header.Get(backend.OAuthIdentityIDTokenHeaderName) == "" {
		return errNobody
	}
	return nil
}

// forwardTenant sends the identity of the user who asks along, where the endpoint has no credentials of its own. The
// SDK would forward everything that a browser sends with a resource call, Accept-Encoding for one, and then nobody
// unpacks the answer.
func forwardTenant() httpclient.Middleware {
	return httpclient.NamedMiddlewareFunc("warpwatch-tenant", func(_ httpclient.Options, next http.RoundTripper) http.RoundTripper {
		return httpclient.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
			t, ok := req.Context().Value(tenantKey{}).(tenant)
			if !ok {
				return next.RoundTrip(req)
			}
			req = req.Clone(req.Context())
			for name, values := range t.header {
				if req.Header.Get(name) == "" {
					req.Header[name] = values
				}
			}
			return next.RoundTrip(req)
		})
	})
}
