package console_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// setupWithout creates a console whose database role can read all tables except the given ones,
// like a gateway's role.
func setupWithout(t *testing.T, tables ...string) *bundle {
	t.Helper()
	admin := pgtest.New(t)
	role := "console_" + strings.ToLower(rand.Text())
	for _, statement := range []string{
		`CREATE ROLE ` + role, `GRANT USAGE ON SCHEMA hooklatch TO ` + role, `GRANT SELECT ON ALL TABLES IN SCHEMA hooklatch TO ` + role,
		`REVOKE SELECT ON hooklatch.` + strings.Join(tables, ", hooklatch.") + ` FROM ` + role,
	} {
		_, err := admin.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(t, err)
	})
	config := admin.Config()
	config.ConnConfig.RuntimeParams["role"] = role
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return setupOn(t, admin, func(o *console.Options) {
		box, err := outbox.New(outbox.Options{Pool: pool})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
		o.Outbox = box
	})
}

// A console whose role may not read a table says so, instead of failing or omitting the data.
func TestAConsoleSaysWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	b := setupWithout(t, "deliveries", "replay_runs")
	b.accept(t, "evt_1", "invoice.paid", `{}`)
	for _, path := range []string{"/events/stripe/evt_1", "/runs", "/runs/7"} {
		got := b.get(path)
		require.Equal(t, http.StatusForbidden, got.Code, path)
		require.Contains(t, got.Body.String(), "This process lacks a database privilege", path)
		require.Equal(t, http.StatusForbidden, b.get("/api"+path).Code, path)
	}

	b = setupWithout(t, "replay_runs")
	require.Contains(t, b.page(t, findPath("7")), "Not searched, because the database role lacks a privilege: run. The console of a worker searches everything.")
	require.Contains(t, b.page(t, "/api"+findPath("7")), `"unread":["run"]`)
}
