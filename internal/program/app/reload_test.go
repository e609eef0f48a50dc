package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const first = `
sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}
destinations: {app: {http: {url: http://localhost:1/}}}
routes: [{name: all, from: stripe, to: app}]
`

// started returns a ready App on a test database.
func started(t *testing.T, f *file, logs *syncBuffer, change ...func(*app.Options)) *app.App {
	t.Helper()
	cfg, err := f.load()
	require.NoError(t, err)
	opts := app.Options{
		Config: cfg, Gateway: true, Worker: true, Load: f.load,
		Logger: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	for _, f := range change {
		f(&opts)
	}
	a, err := app.New(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.NoError(t, a.Start(t.Context()))
	select {
	case <-a.Prepared():
	case err := <-a.Failed():
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "not prepared")
	}
	return a
}

// reload reloads the configuration until a reload succeeds: while the database is slow, a reload
// may fail.
func reload(t *testing.T, a *app.App) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := a.Reload(t.Context())
		if err != nil {
			t.Log(err)
		}
		return err == nil
	}, patience, 20*time.Millisecond)
}

// status returns the response status of an unsigned delivery: 404 for an unknown source, 401 for a
// known source.
func status(t *testing.T, a *app.App, source string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.GatewayAddr().String()+"/webhooks/"+source, http.NoBody)
	require.NoError(t, err)
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// deliver sends a signed event to a source that has the name of its provider.
func deliver(t *testing.T, a *app.App, source, key string) {
	t.Helper()
	p, err := catalog.New(source, provider.Options{})
	require.NoError(t, err)
	sample := p.Sample("", "", time.Now())
	require.NoError(t, p.Sign(sample, secret.New(key), time.Now()))
	r, err := http.NewRequestWithContext(t.Context(), sample.Method, "http://"+a.GatewayAddr().String()+"/webhooks/"+source, bytes.NewReader(sample.Body))
	require.NoError(t, err)
	r.Header, r.Close = sample.Header, true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestReloadPutsSourcesAndRoutesIntoEffect(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	f := newFile(t, pgtest.URL(t, pool))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	require.Equal(t, http.StatusUnauthorized, status(t, a, "stripe"))
	require.Equal(t, http.StatusNotFound, status(t, a, "github"))

	f.write(t, `
sources: {github: {provider: github, secrets: [the-first-secret]}}
destinations: {app: {http: {url: http://localhost:2/}}, other: {http: {url: http://localhost:3/}}}
routes: [{name: some, from: github, to: app, when: "event.type != ''"}]
worker: {dispatch_workers: 3}
retention: {export: {directory: `+t.TempDir()+`}}
`)
	reload(t, a)
	require.Equal(t, http.StatusNotFound, status(t, a, "stripe"))
	require.Equal(t, http.StatusUnauthorized, status(t, a, "github"))
	deliver(t, a, "github", "the-first-secret")
	require.Eventually(t, func() bool {
		var route string
		err := pool.QueryRow(t.Context(), `SELECT route FROM hooklatch.effects`).Scan(&route)
		return err == nil && route == "some"
	}, patience, 10*time.Millisecond, "the new route has the event")
	require.Contains(t, logs.String(), `they take effect after a restart" reason="worker, retention.export"`)
	require.Contains(t, logs.String(), `level=WARN msg="destinations changed; they take effect after a restart" destination="app, other"`)
}

func TestReloadOfABadFileChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	const github = "sources: {github: {provider: github, secrets: [the-first-secret]}}\n"
	for text, want := range map[string]string{
		"sources: {github: {provider: githup, secrets: [the-first-secret]}}\n": `"githup"`,
		"sources: [\n": "hooklatch.yaml:",
		github + "destinations: {app: {http: {url: http://localhost:1/}}}\nroutes: [{name: all, from: github, to: app, when: event.nothing}]\n":              "hooklatch.yaml:6: routes[0].when: ",
		github + "destinations: {new: {http: {url: http://localhost:1/}}}\nroutes: [{name: all, from: github, to: new}]\n":                                   `route "all" leads to the new destination "new": restart`,
		github + "destinations: {app: {http: {url: http://localhost:1/, sign: {standard_webhooks: whsec_!}}}}\nroutes: [{name: a, from: github, to: app}]\n": "secret 1 is not Base64 after whsec_",
	} {
		f.write(t, text)
		err := a.Reload(t.Context())
		require.ErrorContains(t, err, want)
		require.Equal(t, http.StatusUnauthorized, status(t, a, "stripe"), text)
		require.Equal(t, http.StatusNotFound, status(t, a, "github"), text)
	}
}

// A URL from a flag or the environment overrides all configured URLs, also after a reload. The
// reload does not say that a restart would put the configured URLs into effect.
func TestReloadKeepsTheOverridingDatabase(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, pgtest.New(t))
	const nowhere = "postgres://nobody@127.0.0.1:1/"
	f := newFile(t, nowhere+`first", direct_url: "`+nowhere+`direct", read_url: "`+nowhere+"read")
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs, func(o *app.Options) { o.DatabaseURL = secret.New(url) })
	f.database = nowhere + `second", read_url: "` + nowhere + "other"
	f.write(t, first)
	reload(t, a)
	require.Contains(t, logs.String(), "configuration reloaded")
	require.NotContains(t, logs.String(), "take effect after a restart")
	deliver(t, a, "stripe", "the-first-secret")
}

// A reload logs everything that it removes. Only a file with allow_empty removes the last source or
// route.
func TestReloadNamesWhatIsGone(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	const second = `
sources: {stripe: {provider: stripe, secrets: [the-first-secret]}, github: {provider: github, secrets: [the-first-secret]}}
destinations: {app: {http: {url: http://localhost:1/}}, crm: {http: {url: http://localhost:1/}}}
routes: [{name: all, from: stripe, to: app}, {name: pushed, from: github, to: crm}]
`
	f.write(t, second)
	var logs syncBuffer
	a := started(t, f, &logs)
	require.NoError(t, a.Ready(t.Context()))
	for text, want := range map[string]string{
		"": "has no sources, and the configuration in effect has 2; set allow_empty: true if this is intended",
		"sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}\n":                                 "has no routes, and the configuration in effect has 2; set allow_empty: true if this is intended",
		"destinations: {app: {http: {url: http://localhost:1/}}}\nroutes: [{name: all, from: '*', to: app}]\n": "has no sources",
	} {
		f.write(t, text)
		require.ErrorContains(t, a.Reload(t.Context()), want, text)
		require.Equal(t, http.StatusUnauthorized, status(t, a, "github"))
		require.NoError(t, a.Ready(t.Context()))
	}
	require.NotContains(t, logs.String(), "lacks parts")
	f.write(t, first)
	reload(t, a)
	require.Contains(t, logs.String(), `level=WARN msg="the reloaded configuration lacks parts of the previous one" source=github route=pushed destination=crm`)
	f.write(t, "allow_empty: true\n")
	reload(t, a)
	require.Contains(t, logs.String(), `source=stripe route=all destination="app, crm"`)
	require.NoError(t, a.Ready(t.Context()))
}

// A process whose configuration accepts or dispatches nothing is not ready unless allow_empty is
// set.
func TestAnEmptyConfigurationIsNotReady(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for name, test := range map[string]struct {
		text, want      string
		gateway, worker bool
	}{
		"serve with nothing":    {gateway: true, worker: true, want: "the configuration has no sources, so no delivery is accepted; the configuration has no routes, so no event is dispatched: add them, or set allow_empty: true"},
		"serve with sources":    {gateway: true, worker: true, text: "sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}\n", want: "no routes"},
		"gateway with nothing":  {gateway: true, want: "no sources"},
		"gateway with sources":  {gateway: true, text: "sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}\n"},
		"worker with nothing":   {worker: true, want: "no routes"},
		"worker with routes":    {worker: true, text: first},
		"serve that is allowed": {gateway: true, worker: true, text: "allow_empty: true\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFile(t, pgtest.URL(t, pool))
			f.write(t, test.text)
			cfg, err := f.load()
			require.NoError(t, err)
			var logs syncBuffer
			a, err := app.New(t.Context(), app.Options{
				Config: cfg, Gateway: test.gateway, Worker: test.worker, Logger: slog.New(slog.NewTextHandler(&logs, nil)),
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
			require.NoError(t, a.Start(t.Context()))
			<-a.Prepared()
			if test.want == "" {
				require.NoError(t, a.Ready(t.Context()))
				require.NotContains(t, logs.String(), "not ready")
				return
			}
			require.ErrorContains(t, a.Ready(t.Context()), test.want)
			require.Contains(t, logs.String(), "level=WARN msg=\"not ready: ")
		})
	}
}
