package standby_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/standby"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// looked returns the state of a standby that has just been configured. It looks again while a
// server is too slow to answer.
func looked(t *testing.T, primary, other *pgxpool.Pool) (state standby.State) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := standby.New(primary, other, "")
		require.NoError(t, err)
		state = s.Look(t.Context())
		return !errors.Is(state.Cause, context.DeadlineExceeded)
	}, 2*time.Minute, 10*time.Millisecond)
	return state
}

func TestThePrimaryItselfIsAsGoodAsAStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t) // some services give readers the primary's address while no standby is running
	require.Equal(t, standby.State{}, looked(t, primary, primary))
}

func TestAServerThatDoesNotFollowThePrimaryIsRefused(t *testing.T) {
	t.Parallel()
	primary, other := pgtest.New(t, pgtest.Own()), pgtest.New(t, pgtest.Own())
	require.Equal(t, "database.read_url leads to a server that is not a standby", looked(t, primary, other).Refused)

	follower, at := pgtest.Standby(t, primary)
	onStandby, err := pgxpool.New(t.Context(), at)
	require.NoError(t, err)
	t.Cleanup(onStandby.Close)
	require.Eventually(t, func() bool { return looked(t, primary, onStandby).Usable() }, time.Minute, 10*time.Millisecond)
	_, err = onStandby.Exec(t.Context(), "SELECT pg_promote(true, 60)")
	require.NoError(t, err)
	require.Equal(t, "database.read_url leads to a server that is not a standby", looked(t, primary, onStandby).Refused)
	require.Equal(t, "database.read_url leads to a server that is not a standby", looked(t, onStandby, primary).Refused)

	pgtest.Kill(follower)
	refused := looked(t, primary, onStandby)
	require.Equal(t, "the standby does not answer", refused.Refused)
	require.Error(t, refused.Cause)
}

func TestAStandbyOfAPromotedServerIsRefused(t *testing.T) {
	t.Parallel()
	old := pgtest.New(t, pgtest.Own())
	server, at := pgtest.Standby(t, old)
	promoted, err := pgxpool.New(t.Context(), at)
	require.NoError(t, err)
	t.Cleanup(promoted.Close)
	_, err = promoted.Exec(t.Context(), "SELECT pg_promote(true, 60)")
	require.NoError(t, err)
	_, err = promoted.Exec(t.Context(), "CHECKPOINT")
	require.NoError(t, err)
	behind, err := pgxpool.New(t.Context(), pgtest.StandbyOf(t, server).URL(promoted.Config().ConnConfig.Database))
	require.NoError(t, err)
	t.Cleanup(behind.Close)
	require.Eventually(t, func() bool { return looked(t, promoted, behind).Usable() }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "the standby follows another primary", looked(t, old, behind).Refused)
}
