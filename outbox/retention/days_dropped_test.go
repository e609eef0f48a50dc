package retention

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A day that another run drops during the reading has no size. The listing does not fail.
func TestADayThatIsDroppedMeanwhileIsNoError(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const day = "hooklatch.deliveries_20200101"
	_, err := pool.Exec(t.Context(), "CREATE TABLE "+day+" ()")
	require.NoError(t, err)
	statements, err := loadStatements("hooklatch")
	require.NoError(t, err)
	reading, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, reading.Rollback(context.Background())) })
	_, err = reading.Exec(t.Context(), "SELECT") // takes the snapshot
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "DROP TABLE "+day)
	require.NoError(t, err)

	rows, err := statements.Days.With(days{Whole: wholeDeliveries}).Query(t.Context(), reading)
	require.NoError(t, err)
	bytes, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (bytes int64, err error) {
		return bytes, row.Scan(nil, nil, nil, nil, nil, &bytes, nil)
	})
	require.NoError(t, err)
	require.Zero(t, bytes)
}
