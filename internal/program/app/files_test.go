package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const often = 5 * time.Millisecond // replaces DefaultFilesEvery

// mount is a directory of secrets as Kubernetes mounts it. The files are links into a directory,
// which is itself a link that is replaced when a secret changes.
type mount struct{ dir string }

func (m mount) replace(t *testing.T, files map[string]string) {
	t.Helper()
	data, err := os.MkdirTemp(m.dir, "..data-") //nolint:usetesting // the directory must be in the mount
	require.NoError(t, err)
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(data, name), []byte(text), 0o600))
		if link := filepath.Join(m.dir, name); !exists(link) {
			require.NoError(t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
	next := filepath.Join(m.dir, "..data_tmp")
	require.NoError(t, os.Symlink(filepath.Base(data), next))
	require.NoError(t, os.Rename(next, filepath.Join(m.dir, "..data")))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestFilesAreInEffectWhenTheyChange(t *testing.T) {
	t.Parallel()
	bearers := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		bearers <- r.Header.Get("Authorization")
	}))
	t.Cleanup(receiver.Close)
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	m := mount{t.TempDir()}
	m.replace(t, map[string]string{"stripe": "the-first-secret", "bearer": "the-first-bearer", "token": "the-first-admin-token", "grafana": "the-first-grafana", "client": "the-first-client"})
	text := `
database: {url: "` + f.database + `", allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0", accept_timeout: 60s, read_header_timeout: 60s}
admin: {listen: "localhost:0", token_file: ` + m.dir + `/token, tokens: [{name: grafana, role: viewer, token_file: ` + m.dir + `/grafana}], console_url: "http://localhost",
  auth: {oidc: {issuer: "http://127.0.0.1:1", client_id: hooklatch, client_secret_file: ` + m.dir + `/client}, roles: {viewer: "true"}}}
sources: {stripe: {provider: stripe, secrets_file: ` + m.dir + `/stripe}}
destinations: {app: {http: {url: "` + receiver.URL + `", bearer_file: ` + m.dir + `/bearer}}}
routes: [{name: all, from: stripe, to: app}]
`
	require.NoError(t, os.WriteFile(f.path, []byte(text), 0o600))
	cfg, err := f.load()
	require.NoError(t, err)
	var logs syncBuffer
	a, err := app.New(t.Context(), app.Options{
		Config: cfg, Gateway: true, Worker: true, FilesEvery: often,
		Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.NoError(t, a.Start(t.Context()))
	<-a.Prepared()
	deliver(t, a, "stripe", "the-first-secret")
	require.Equal(t, "Bearer the-first-bearer", <-bearers)
	require.Equal(t, http.StatusOK, page(t, a, "the-first-admin-token"))

	// The configuration was edited, but no reload was requested.
	require.NoError(t, os.WriteFile(f.path, []byte("sources: ["), 0o600))
	m.replace(t, map[string]string{"stripe": "the-second-secret", "bearer": "the-second-bearer", "token": "the-second-admin-token", "grafana": "the-second-grafana", "client": "the-second-client"})
	logged(t, &logs, `are in effect" path="admin.auth.oidc.client_secret, admin.token, admin.tokens[0].token, destinations.app.http.bearer, sources.stripe.secrets"`)
	deliver(t, a, "stripe", "the-second-secret")
	require.Equal(t, "Bearer the-second-bearer", <-bearers)
	require.Equal(t, http.StatusOK, page(t, a, "the-second-admin-token"))
	require.Equal(t, http.StatusUnauthorized, page(t, a, "the-first-admin-token"))
	require.Equal(t, http.StatusOK, page(t, a, "the-second-grafana"))
	require.Equal(t, http.StatusUnauthorized, page(t, a, "the-first-grafana"))
	require.NotContains(t, logs.String(), "take effect after a restart")

	// One file is written, and another one is still empty.
	m.replace(t, map[string]string{"stripe": "", "bearer": "the-third-bearer", "token": "the-second-admin-token", "grafana": "the-second-grafana", "client": "the-second-client"})
	logged(t, &logs, "changed files cannot be used: the current secrets and certificates stay in effect")
	deliver(t, a, "stripe", "the-second-secret")
	require.Equal(t, "Bearer the-second-bearer", <-bearers)
	m.replace(t, map[string]string{"stripe": "the-third-secret", "bearer": "the-third-bearer", "token": "the-second-admin-token", "grafana": "the-second-grafana", "client": "the-second-client"})
	logged(t, &logs, `are in effect" path="destinations.app.http.bearer, sources.stripe.secrets"`)
	deliver(t, a, "stripe", "the-third-secret")
	require.Equal(t, "Bearer the-third-bearer", <-bearers)
	for _, secret := range []string{"the-first", "the-second", "the-third"} {
		require.NotContains(t, logs.String(), secret)
	}
}

// After a reload, some new settings wait for a restart. A changed secret takes effect immediately
// if it belongs to a setting in effect. Otherwise, the log says that it needs a restart too.
func TestFilesThatNeedARestartAreNamed(t *testing.T) {
	t.Parallel()
	bearers := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		bearers <- r.Header.Get("Authorization")
	}))
	t.Cleanup(receiver.Close)
	url := pgtest.URL(t, pgtest.New(t))
	f := newFile(t, url)
	m := mount{t.TempDir()}
	files := map[string]string{"url": url, "bearer": "the-first-bearer", "heartbeat": "https://beats.example.com/first", "redis": "redis://127.0.0.1:1/0"}
	m.replace(t, files)
	write := func(timeout, path string) {
		require.NoError(t, os.WriteFile(f.path, []byte(`
database: {url_file: `+m.dir+`/url, allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0", accept_timeout: 60s, read_header_timeout: 60s, seen_cache: {redis_file: `+m.dir+`/redis}}
admin: {listen: "127.0.0.1:0"}
alerts: {heartbeat_file: `+m.dir+`/heartbeat}
sources: {stripe: {provider: stripe, secrets: the-secret}}
destinations: {app: {timeout: `+timeout+`, http: {url: "`+receiver.URL+path+`", bearer_file: `+m.dir+`/bearer}}}
routes: [{name: all, from: stripe, to: app}]
`), 0o600))
	}
	write("5s", "")
	var logs syncBuffer
	a := started(t, f, &logs, func(o *app.Options) { o.FilesEvery = often })

	write("6s", "")
	reload(t, a)
	logged(t, &logs, `"destinations changed; they take effect after a restart" destination=app`)
	files["bearer"] = "the-second-bearer"
	m.replace(t, files)
	logged(t, &logs, `are in effect" path=destinations.app.http.bearer`)
	deliver(t, a, "stripe", "the-secret")
	require.Equal(t, "Bearer the-second-bearer", <-bearers, "the new secret is sent although the time limit needs a restart")

	write("6s", "/elsewhere")
	reload(t, a)
	files["bearer"], files["heartbeat"], files["redis"], files["url"] = "the-bearer-of-elsewhere", "https://beats.example.com/second", "redis://127.0.0.1:2/0", url+"&connect_timeout=7"
	m.replace(t, files)
	logged(t, &logs, `"changed files of secrets take effect after a restart" path="alerts.heartbeat, database.url, destinations.app.http.bearer, gateway.seen_cache.redis"`)
	require.Equal(t, 1, strings.Count(logs.String(), "changed files of secrets and certificates are in effect"), "no other change is in effect")
	deliver(t, a, "stripe", "the-secret")
	require.Equal(t, "Bearer the-second-bearer", <-bearers, "a secret for another URL is not sent to this one")
}

// Files of secrets may be on a mount that hangs. A process that waits for such a file still
// announces its configuration. A reload that does not need the file takes effect and stays in
// effect.
func TestAHungFileHoldsNeitherAnnouncementsNorReloads(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("the-former-secret"), 0o600))
	slow := "\nsources: {stripe: {provider: stripe, secrets_file: " + file + "}, github: {provider: github, secrets: [\"${SLOW}\"]}}\n"
	const fast = "\nsources: {stripe: {provider: stripe, secrets: [the-second-secret]}}\n"
	var hung atomic.Bool
	reading, released := make(chan struct{}, 10), make(chan struct{})
	load := func() (*config.Config, error) {
		return config.Load(f.path, func(name string) (string, bool) { // the variable SLOW stands in for a file on the mount
			if name == "SLOW" && hung.Load() {
				reading <- struct{}{}
				<-released
			}
			return "of-github", name == "SLOW"
		})
	}
	f.write(t, slow)
	cfg, err := load()
	require.NoError(t, err)
	f.write(t, fast)
	var logs syncBuffer
	a := started(t, f, &logs, func(o *app.Options) {
		o.Config, o.Load, o.Worker, o.FilesEvery = cfg, load, false, time.Hour
	})
	release := func() {
		hung.Store(false)
		close(released)
	}
	begin := func(f func(context.Context) error) <-chan error {
		done := make(chan error, 1)
		go func() { done <- f(context.WithoutCancel(t.Context())) }()
		return done
	}
	ends := func(done <-chan error, what string) {
		t.Helper()
		select {
		case err := <-done:
			require.NoError(t, err, what)
		case <-time.After(patience):
			defer release() // otherwise the cleanup would wait for the file too
			require.Fail(t, what+" waits for the file")
		}
	}

	require.NoError(t, os.WriteFile(file, []byte("the-first-secret"), 0o600))
	hung.Store(true)
	rereading := begin(a.RereadFiles)
	<-reading
	ends(begin(a.Announce), "the announcement")
	f.write(t, fast)
	ends(begin(a.Reload), "the reload without the file")
	release()
	ends(rereading, "rereading")
	deliver(t, a, "stripe", "the-second-secret")

	f.write(t, slow)
	released = make(chan struct{})
	hung.Store(true)
	reloading := begin(a.Reload)
	<-reading
	ends(begin(a.Announce), "the announcement")
	release()
	ends(reloading, "the reload")
	deliver(t, a, "stripe", "the-first-secret")
}

func logged(t *testing.T, logs *syncBuffer, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(logs.String(), text) }, patience, often, text)
}

// page returns the admin listener's response status for a token.
func page(t *testing.T, a *app.App, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.AdminAddr().String()+"/metrics", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// A new connection logs in with the current user and password, which may be short-lived, but never
// connects to another server.
func TestConnectionsTakeTheLoginOfTheirTime(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	_, err := owner.Exec(t.Context(), "DO $$ BEGIN CREATE ROLE hooklatch_next LOGIN PASSWORD 'of-tomorrow'; EXCEPTION WHEN duplicate_object THEN NULL; WHEN unique_violation THEN NULL; END $$")
	require.NoError(t, err)
	url := patientURL(t, owner)
	login := url
	pool, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(url), MaxConns: 1, ApplicationName: "test", Login: func() secret.Value { return secret.New(login) }})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	user := func() (name, database string) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT session_user, current_database()").Scan(&name, &database))
		return name, database
	}
	before, database := user()
	require.NotEqual(t, "hooklatch_next", before)
	login = "postgres://hooklatch_next:of-tomorrow@203.0.113.1:1/nowhere"
	pool.Reset()
	after, same := user()
	require.Equal(t, "hooklatch_next", after)
	require.Equal(t, database, same)
}
