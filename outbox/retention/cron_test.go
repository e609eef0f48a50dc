package retention_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// pg_cron runs the statements of docs/operations.md. The test schedules them every minute. It needs
// the extension, postgresql-15-cron on Debian.
func TestPgCronRunsWhatThePageSays(t *testing.T) {
	t.Parallel()
	var offered bool
	require.NoError(t, pgtest.New(t).QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_cron')`).Scan(&offered))
	if !offered {
		t.Skip("this server has no pg_cron")
	}
	pool := pgtest.New(t, pgtest.Setting("shared_preload_libraries", "pg_cron"), pgtest.Setting("cron.use_background_workers", "on"))
	page, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```sql\n-- with pg_cron\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	jobs := regexp.MustCompile(`'\d+ [0-9*]+ \* \* \*'`).ReplaceAllString(string(block[1]), `'* * * * *'`)
	database := pool.Config().ConnConfig.Database
	_, err = pool.Exec(t.Context(), `ALTER SYSTEM SET cron.database_name = '`+database+`'`)
	require.NoError(t, err)
	require.NoError(t, pgtest.Server(t, pool).Restart(t.Context()))
	pool.Reset()
	_, err = pool.Exec(t.Context(), `CREATE EXTENSION pg_cron; `+jobs)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var ahead, inserted int
		err := pool.QueryRow(t.Context(), `SELECT hooklatch.delivery_days_ahead(),
			(SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.retention' AND state = 'available')`).Scan(&ahead, &inserted)
		return err == nil && ahead == 14 && inserted > 0
	}, 3*time.Minute, 100*time.Millisecond)
}
