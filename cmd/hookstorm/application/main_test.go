package application_test

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// records writes a history, and keeps in memory every record except the beginnings of operations.
type records struct {
	*history.Writer

	mu   sync.Mutex
	ends []history.Record // ends of operations
}

func newRecords() *records {
	r := &records{}
	r.Writer = history.NewWriter(new(bytes.Buffer), func(record history.Record) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if record.Kind != history.Invoke {
			r.ends = append(r.ends, record)
		}
	})
	return r
}

func (r *records) list() []history.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends
}

// newDatabase returns a database with Hooklatch's tables, the run's tables, and the destination
// Direct.
func newDatabase(t *testing.T) (*pgxpool.Pool, *outbox.Outbox) {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), scenario.Tables)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, box.Fleet().RegisterDestinations(t.Context(), []fleet.Destination{
		{Name: application.Direct, Kind: "http", Queue: "dst_direct", Policy: ledger.AtLeastOnce},
	}))
	return pool, box
}

func collect[T any](t *testing.T, pool *pgxpool.Pool, query string, args ...any) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), query, args...)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return values
}
