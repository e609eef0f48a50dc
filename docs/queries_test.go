package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// typed matches the statements in operations.md that a reader types: on separate lines, or in a
// table.
var typed = regexp.MustCompile("(?m)^ {4,6}(SELECT [^;]+;)|`(SELECT [^`;]+;)`")

func TestTheQueriesOfOperationsRun(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	text, err := os.ReadFile("operations.md")
	require.NoError(t, err)
	found := typed.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1)
	require.GreaterOrEqual(t, len(found), 2)
	for _, one := range found {
		_, err := pool.Exec(t.Context(), one[1]+one[2])
		require.NoError(t, err, one[0])
	}
}

func TestTheCheckOfOperationsFindsWhatItSays(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE orders (event_id text);
		INSERT INTO orders VALUES ('evt_2');
		INSERT INTO hooklatch.processed_events
			(source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue)
		SELECT 'stripe', 'evt_' || i, 1 + i, gen_random_uuid(), 'stripe', 'invoice.paid', now() - i * interval '1 hour', gen_random_uuid(), '', 'dispatch'
		FROM unnest(ARRAY[0, 1, 2, 50]) AS i`)
	require.NoError(t, err)
	text, err := os.ReadFile("operations.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(checks:.*?)```").FindSubmatch(text)
	require.NotNil(t, block)
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "hooklatch.yaml"), block[1], nil)
	require.NoError(t, err)
	result, err := agreement.Run(t.Context(), pool, cfg.Checks[0])
	require.NoError(t, err)
	require.Equal(t, 1, result.Count, "neither the newest, nor the one with an order, nor the old one")
	require.Equal(t, "evt_1", *result.Rows[0][0].Value)
}

// The tables have the columns that the page's queries use, as in the systems that the page names.
func TestTheQueriesOfMigrateFindTheKeys(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE webhook_events (event_id text, provider text, created_at timestamptz DEFAULT now());
		INSERT INTO webhook_events VALUES ('evt_1', 'stripe'), ('d-1', 'github');
		CREATE SCHEMA convoy;
		CREATE TABLE convoy.events (source_id char(26), headers jsonb, raw text NOT NULL, created_at timestamptz DEFAULT now(), deleted_at timestamptz);
		INSERT INTO convoy.events VALUES
			('01HVNHCYTFW7MDKMQ43YFS20HZ', '{"X-Github-Delivery": ["evt_1"]}', '{"id": "evt_1"}'),
			('01HVNHCYTFW7MDKMQ43YFS20HA', '{"X-Github-Delivery": ["evt_2"]}', '{"id": "evt_2"}')`)
	require.NoError(t, err)
	text, err := os.ReadFile("migrate.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 3)
	for _, block := range blocks {
		rows, err := pool.Query(t.Context(), block[1])
		require.NoError(t, err)
		keys, err := pgx.CollectRows(rows, pgx.RowToMap)
		require.NoError(t, err, block[1])
		require.Len(t, keys, 1, block[1])
		require.Equal(t, "evt_1", keys[0]["event_id"], "the columns have the names that the header of the file has")
		require.Contains(t, keys[0], "received_at")
	}
}

// Every YAML block in these pages is a valid configuration.
func TestTheConfigurationsOfThePagesAreRight(t *testing.T) {
	t.Parallel()
	blocks, withRoutes := regexp.MustCompile("(?s)```yaml\n(.*?)```"), regexp.MustCompile("(?m)^routes:")
	env := func(string) (string, bool) { return "postgres://hooklatch@localhost/shop", true }
	for _, page := range []string{"migrate.md", "operations.md", "handlers.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
			yaml := block[1]
			if withRoutes.MatchString(yaml) {
				yaml = "sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}\n" + yaml
			}
			_, err := config.Parse(filepath.Join(t.TempDir(), "hooklatch.yaml"), []byte(yaml), env)
			require.NoError(t, err, "%s: %s", page, yaml)
		}
	}
}
