package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestAServerWhoseLocksExcludeNobodyIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE SCHEMA pretending;
		CREATE FUNCTION pretending.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
	require.NoError(t, err)
	for name, opts := range map[string]app.Options{"gateway": {Gateway: true}, "worker": {Worker: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFile(t, pgtest.URL(t, pool)+"&search_path=pretending,pg_catalog,public")
			f.write(t, "sources: {stripe: {provider: stripe, secrets: the-first-secret}}\n")
			cfg, err := f.load()
			require.NoError(t, err)
			opts.Config = cfg
			a, err := app.New(t.Context(), opts)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
			require.NoError(t, a.Start(t.Context()))
			select {
			case err := <-a.Failed():
				require.ErrorContains(t, err, "advisory locks do not work")
			case <-a.Prepared():
				require.Fail(t, "the process works on a server without locks")
			case <-time.After(patience):
				require.Fail(t, "the process neither starts nor fails")
			}
		})
	}
}
