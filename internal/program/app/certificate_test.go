package app_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/app/selfsigned"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// certify writes a certificate and its key to dir.
func certify(t *testing.T, dir string, from, until time.Time) (cert, key string) {
	t.Helper()
	cert, key, err := selfsigned.Write(dir, from, until)
	require.NoError(t, err)
	return cert, key
}

// A reload reads the key pairs of both listeners again. If a new pair is invalid or expired, the
// old pair stays in effect.
func TestReloadReadsCertificatesAgain(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	dir := filepath.Dir(f.path)
	write := func(cert, key string) {
		require.NoError(t, os.WriteFile(f.path, fmt.Appendf(nil, `
database: {url: %q, allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0", tls: {cert_file: %s, key_file: %s}}
admin: {listen: "127.0.0.1:0", tls: {cert_file: %[2]s, key_file: %s}}
`, f.database, cert, key), 0o600))
	}
	served := func(address string) *big.Int {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber
	}
	now := time.Now()
	write("tls.crt", "tls.key")
	certify(t, dir, now, now.Add(time.Hour))
	var logs syncBuffer
	a := started(t, f, &logs)
	require.Contains(t, logs.String(), "https://")
	require.Equal(t, now.Add(time.Hour).UnixNano(), served(a.GatewayAddr().String()).Int64())

	inEffect := func(until time.Time) {
		t.Helper()
		require.Equal(t, until.UnixNano(), served(a.GatewayAddr().String()).Int64())
		require.Equal(t, until.UnixNano(), served(a.AdminAddr().String()).Int64())
	}
	certify(t, dir, now, now.Add(2*time.Hour))
	inEffect(now.Add(time.Hour))
	reload(t, a)
	inEffect(now.Add(2 * time.Hour))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), []byte("nothing"), 0o600))
	require.ErrorContains(t, a.Reload(t.Context()), "cannot be used: tls: failed to find any PEM data in key input")
	inEffect(now.Add(2 * time.Hour))
	certify(t, dir, now.Add(-2*time.Hour), now.Add(-time.Hour))
	require.ErrorContains(t, a.Reload(t.Context()), "expired on ")
	inEffect(now.Add(2 * time.Hour))

	other := t.TempDir()
	write(certify(t, other, now, now.Add(3*time.Hour)))
	reload(t, a)
	inEffect(now.Add(3 * time.Hour))
	require.NotContains(t, logs.String(), "take effect after a restart", "changes to other files need no restart")

	f.write(t, "")
	reload(t, a)
	require.Contains(t, logs.String(), `take effect after a restart" reason="gateway, admin"`)
	inEffect(now.Add(3 * time.Hour))
}

func TestStartRefusesACertificateThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFile(t, "postgres://nobody@127.0.0.1:1/none")
	require.NoError(t, os.WriteFile(f.path, []byte("database: {url: \""+f.database+"\"}\ngateway: {tls: {cert_file: a.crt, key_file: a.key}}\n"), 0o600))
	cfg, err := f.load()
	require.NoError(t, err)
	_, err = app.New(t.Context(), app.Options{Config: cfg, Gateway: true})
	require.ErrorContains(t, err, f.path+":2: gateway.tls: cannot be used: open ")
}

// An expired certificate that is in use prevents neither new secrets nor a reload. Another expired
// certificate cannot replace it.
func TestAnExpiredCertificateKeepsNoSecretOut(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	dir := filepath.Dir(f.path)
	now := time.Now()
	certify(t, dir, now.Add(-2*time.Hour), now.Add(-time.Hour))
	secrets := func(one string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stripe"), []byte(one), 0o600))
	}
	secrets("the-first-secret")
	require.NoError(t, os.WriteFile(f.path, fmt.Appendf(nil, `
database: {url: %q, allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0", accept_timeout: 60s, read_header_timeout: 60s}
admin: {listen: "127.0.0.1:0", tls: {cert_file: tls.crt, key_file: tls.key}}
sources: {stripe: {provider: stripe, secrets_file: stripe}}
`, f.database), 0o600))
	var logs syncBuffer
	a := started(t, f, &logs, func(o *app.Options) { o.FilesEvery = often })
	deliver(t, a, "stripe", "the-first-secret")

	secrets("the-second-secret")
	logged(t, &logs, `are in effect" path=sources.stripe.secrets`)
	deliver(t, a, "stripe", "the-second-secret")
	secrets("the-third-secret")
	reload(t, a)
	deliver(t, a, "stripe", "the-third-secret")
	require.Greater(t, strings.Count(logs.String(), `"certificate has expired" path=admin.tls`), 1)

	certify(t, dir, now.Add(-3*time.Hour), now.Add(-time.Hour))
	require.ErrorContains(t, a.Reload(t.Context()), "expired on ", "another expired certificate is refused")
}

// A test event reaches a gateway with TLS, although no authority that this machine trusts has
// signed the gateway's certificate.
func TestATestEventReachesAGatewayWithTLS(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	now := time.Now()
	certify(t, filepath.Dir(f.path), now, now.Add(time.Hour))
	require.NoError(t, os.WriteFile(f.path, fmt.Appendf(nil, `
database: {url: %q, allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0", accept_timeout: 60s, read_header_timeout: 60s, public_url: "https://hooks.example.com", tls: {cert_file: tls.crt, key_file: tls.key}}
admin: {listen: "127.0.0.1:0", token: the-long-admin-token}
sources: {stripe: {provider: stripe, secrets: [the-secret]}}
`, f.database), 0o600))
	a := started(t, f, &syncBuffer{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.AdminAddr().String()+"/api/sources/stripe/send", strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer the-long-admin-token")
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(said))
	require.Contains(t, string(said), `"result":"accepted"`)
}
