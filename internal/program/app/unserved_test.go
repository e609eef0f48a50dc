package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The process warns of a removed destination with waiting effects, both at startup and at the
// reload that removes the destination.
func TestWaitingEffectsOfAVanishedDestinationAreToldOf(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('app', 'http', 'dst_app', ''), ('gone', 'http', 'dst_gone', '')`)
	require.NoError(t, err)
	// The destination app is paused, so its effect waits although the destination is served.
	_, err = pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET operator_paused = true WHERE name = 'app'`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `SELECT hooklatch.enqueue('app', 'k1', '{}'), hooklatch.enqueue('gone', 'k1', '{}'), hooklatch.enqueue('gone', 'k2', '{}')`)
	require.NoError(t, err)

	f := newFile(t, pgtest.URL(t, pool))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	require.Regexp(t, `level=WARN msg="2 effects have waited since \S+ for destination \\"gone\\", which is not in the configuration" destination=gone count=2 `+
		`reason="add it again, or run: hooklatch destinations retire gone"`, logs.String())
	require.NotContains(t, logs.String(), "destination=app")

	f.write(t, `
sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}
allow_empty: true
`)
	reload(t, a)
	require.Contains(t, logs.String(), `for destination \"app\", which is not in the configuration" destination=app count=1`)
}

// The effects of alerts have separate destinations, which are served as long as the
// configuration sends notifications through them.
func TestEffectsOfAlertsHaveADestination(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("hooklatch.yaml", []byte(`
destinations:
  mail: {smtp: {host: localhost, from: a@example.com, tls: none}}
  chat: {http: {url: "http://localhost/"}}
alerts: {to: [{destination: mail, recipient: ops@example.com}]}
`), func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	waiting := []fleet.Waiting{{Destination: "alerts:mail", Effects: 1}, {Destination: "alerts:chat", Effects: 2}, {Destination: "mail", Effects: 3}}
	found := app.FindUnserved(cfg, waiting)
	require.Len(t, found, 1, "%+v", found)
	require.Equal(t, "alerts:chat", found[0].Destination, "no alert is sent to chat")
}
