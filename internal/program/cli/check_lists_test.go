package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Check finds lists that the last pass could not read, without calling a provider, and prints the
// permissions that the token needs.
func TestCheckFindsListsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.coverage (source, error, failures, endpoint, endpoint_why, endpoint_at) VALUES
		('stripe', 'GET /v1/events: the token is refused (403)', 2, 'on', '', now()),
		('paddle', '', 0, 'off', 'active: false', now()),
		('gone', 'it is no longer configured', 9, 'off', '', now());
		INSERT INTO hooklatch.backfill_runs (source, since, until, mode, started_at, unlisted, unlisted_event) VALUES
		('stripe', now() - interval '1 day', now(), 'auto', now() - interval '1 day', 3, 'evt_forged'),
		('stripe', now() - interval '3 days', now(), 'auto', now() - interval '3 days', 40, 'evt_older')`)
	require.NoError(t, err)
	cfg := config.Default()
	cfg.Sources = map[string]config.Source{"plain": {Provider: "github"}}
	for _, of := range []struct{ name, provider, token string }{{"stripe", "stripe", "sk_live_1"}, {"other", "stripe", "rk_live_1"}, {"paddle", "paddle", "pdl_1"}} {
		p, err := catalog.New(of.provider, provider.Options{})
		require.NoError(t, err)
		settings := backfill.Settings{Token: secret.New(of.token)}.WithDefaults(p.List)
		cfg.Sources[of.name] = config.Source{Provider: p.Name, Backfill: &settings}
	}
	found := &checkup{cli: &cli{Process: &Process{Name: "hooklatch"}}}
	found.lists(t.Context(), pool, &cfg)
	var said []string
	for _, f := range found.findings {
		said = append(said, f.Message+" -> "+f.Fix)
	}
	require.Len(t, said, 4)
	require.Regexp(t, `^the token of source "stripe" begins with sk_: .* -> .*a restricted key with Events: read`, said[0])
	require.Regexp(t, `source "paddle" does not deliver to it, as seen on .*: active: false`, said[1])
	require.Regexp(t, `^the list of source "stripe" cannot be read: .*refused \(403\) -> .*backfill status.*the token needs: a restricted key with Events: read`, said[2])
	require.Regexp(t, `^in the last two days the webhook of source "stripe" delivered 3 events that .* such as evt_forged -> .*signing secret`, said[3])
}
