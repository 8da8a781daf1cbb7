package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// authority signs certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key, a.pem = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// pair is a certificate with its key, both PEM.
func (a *authority) pair(template *x509.Certificate) (cert, key []byte) {
	a.t.Helper()
	_, k, cert := a.sign(template)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(a.t, err)
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) client(name string) tls.Certificate {
	a.t.Helper()
	cert, key := a.pair(&x509.Certificate{DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	c, err := tls.X509KeyPair(cert, key)
	require.NoError(a.t, err)
	return c
}

// Who reads must show a certificate, and the kubelet, which has none, still learns whether the agent lives.
func TestClientCertificates(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	folder := t.TempDir()
	cert, key := ours.pair(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	for name, content := range map[string][]byte{
		"a.crt": cert, "a.key": key, "ca.crt": ours.pem,
		"web.yml": []byte("tls_server_config: {cert_file: a.crt, key_file: a.key, client_ca_file: ca.crt, " +
			"client_auth_type: RequireAndVerifyClientCert, client_allowed_sans: [prometheus]}\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	c, err := ReadWebConfig(filepath.Join(folder, "web.yml"))
	require.NoError(t, err)
	access, err := NewAccess(AccessOptions{Users: c.Users, ClientCerts: c.ClientCerts})
	require.NoError(t, err)
	require.NotNil(t, access)
	b := newBench(t, func(o *Options) {
		o.TLS, o.Access = c.TLS, access
		o.Control.Reload = func(context.Context) ([]string, error) { return nil, nil }
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.server.Run(ctx, []net.Listener{l}) }()
	roots := x509.NewCertPool()
	roots.AddCert(ours.cert)
	ask := func(method, path string, with ...tls.Certificate) (int, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: with}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+l.Addr().String()+path, nil)
		require.NoError(t, err)
		response, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	for _, want := range []struct {
		method, path string
		with         []tls.Certificate
		status       int
	}{
		{"GET", "/-/healthy", nil, 200},
		{"GET", "/metrics", nil, 401},
		{"GET", "/-/ready", nil, 401},
		{"GET", "/api/v1/processes", nil, 401},
		{"GET", "/metrics", []tls.Certificate{ours.client("prometheus")}, 200},
		{"POST", "/-/reload", []tls.Certificate{ours.client("prometheus")}, 200},
	} {
		status, err := ask(want.method, want.path, want.with...)
		require.NoError(t, err)
		assert.Equal(t, want.status, status, want.path)
	}
	for name, with := range map[string]tls.Certificate{"another name": ours.client("mallory"), "another authority": others.client("prometheus")} {
		_, err := ask("GET", "/metrics", with)
		// A client shows a certificate only to who trusts its authority, so the stranger's may not even be sent.
		if err == nil {
			status, _ := ask("GET", "/metrics", with)
			assert.Equal(t, 401, status, name)
		}
	}
	cancel()
	require.NoError(t, <-done)
}
