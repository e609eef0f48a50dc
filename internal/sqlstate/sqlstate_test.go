package sqlstate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

func TestADatabaseThatIsAwayIsToldFromOneThatIsWrong(t *testing.T) {
	t.Parallel()
	for code, away := range map[string]bool{
		"57P01": true, "57P03": true, "53300": true, "08006": true, "25006": true, "40001": true, "40P01": true, "55P03": true,
		"28P01": false, "28000": false, "3D000": false, "42501": false, "42P01": false, "23505": false,
	} {
		err := fmt.Errorf("connect: %w", &pgconn.PgError{Code: code})
		require.Equal(t, away, sqlstate.Away(err), code)
		require.True(t, sqlstate.Is(err, code))
		require.Equal(t, away && code != sqlstate.Deadlock && code != sqlstate.LockNotAvailable, sqlstate.Transient(code), code)
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, &net.OpError{Op: "read", Err: errors.New("reset")}} {
		require.True(t, sqlstate.Away(fmt.Errorf("query: %w", err)), err)
	}
	require.False(t, sqlstate.Away(errors.New("schema is not ready")))
	require.False(t, sqlstate.Away(nil))
	require.False(t, sqlstate.Is(io.EOF, sqlstate.ReadOnly))
}

// A standby refuses a read-write transaction with a code that permanent errors have too.
func TestADemotedServerIsToldFromAnUnsupportedStatement(t *testing.T) {
	t.Parallel()
	for demoted, errs := range map[bool][]*pgconn.PgError{
		true: {
			{Code: "25006", Message: "cannot execute INSERT in a read-only transaction", Routine: "PreventCommandIfReadOnly"},
			{Code: "0A000", Message: "translated", Routine: "call_bool_check_hook"},
			{Code: "0A000", Message: "cannot set transaction read-write mode during recovery"},
		},
		false: {
			{Code: "0A000", Message: "cached plan must not change result type", Routine: "RevalidateCachedQuery"},
			{Code: "0A000", Message: "cached plan must not change result type"},
			{Code: "22023", Message: "invalid value for parameter", Routine: "call_bool_check_hook"},
		},
	} {
		for _, one := range errs {
			err := fmt.Errorf("begin: %w", one)
			require.Equal(t, demoted, sqlstate.Demoted(err), one)
			require.Equal(t, demoted, sqlstate.Away(err), one)
		}
	}
	require.False(t, sqlstate.Demoted(io.EOF))
}
