package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
)

type tenantKey struct{}

// withTenant marks a request with the identity that is forwarded to Prometheus for its user, so that what a server
// shows one user is not shown to another. Without forwarded credentials all users are one.
func withTenant(ctx context.Context, headers http.Header) context.Context {
	hash := sha256.New()
	forwarded := false
	for _, name := range []string{
		backend.OAuthIdentityTokenHeaderName, backend.OAuthIdentityIDTokenHeaderName, backend.CookiesHeaderName, backend.GrafanaUserSignInTokenHeaderName,
	} {
		if value := headers.Get(name); value != "" {
			forwarded = true
			hash.Write([]byte(name + "\xff" + value + "\xff"))
		}
	}
	if !forwarded {
		return ctx
	}
	return context.WithValue(ctx, tenantKey{}, hex.EncodeToString(hash.Sum(nil)))
}

func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
