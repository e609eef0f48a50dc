//go:build failpoint

package commit

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// asFaulty marks the child process that has failpoints, which are set before it starts.
const asFaulty = "COMMIT_TEST_AS_FAULTY"

// An error at a failpoint has the same consequences as a real fault there: Do and a Group retry the
// transaction, unless it runs only once.
func TestEveryTransactionPassesItsPlaces(t *testing.T) {
	t.Parallel()
	if os.Getenv(asFaulty) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), asFaulty+"=1", "HOOKLATCH_FAILPOINTS="+
			"begins.begin=error@1,written.before_commit=error@1,committed.after_commit=error@1,asked.begin=error,"+
			"tried.before_commit=error@1,tried.after_commit=error@1,"+
			"grouped.begin=error@1,grouped.before_commit=error@1,grouped.after_commit=error@1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	pool := pgtest.New(t)
	db, err := New(Options{Pool: pool})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `CREATE TABLE tries (name text, repeated boolean)`)
	require.NoError(t, err)
	note := func(ctx context.Context, tx pgx.Tx, name Name, repeated bool) error {
		_, err := tx.Exec(ctx, `INSERT INTO tries VALUES ($1, $2)`, string(name), repeated)
		return err
	}
	// tries returns, for each committed try, the value that Do passed for the parameter repeated.
	tries := func(name Name) (repeated []bool) {
		rows, err := pool.Query(t.Context(), `SELECT repeated FROM tries WHERE name = $1 ORDER BY repeated`, string(name))
		require.NoError(t, err)
		repeated, err = pgx.CollectRows(rows, pgx.RowTo[bool])
		require.NoError(t, err)
		return repeated
	}

	for name, want := range map[Name][]bool{
		"begins":    {false},
		"written":   {false},
		"committed": {false, true}, // the caller cannot know that the first try was committed
	} {
		require.NoError(t, db.Do(t.Context(), name, Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
			return note(ctx, tx, name, repeated)
		}))
		require.Equal(t, want, tries(name), "%s", name)
	}

	require.ErrorIs(t, db.Do(t.Context(), "asked", Limits{Once: true}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		return note(ctx, tx, "asked", repeated)
	}), ErrUnavailable)
	require.Empty(t, tries("asked"))

	for _, want := range []error{ErrUnavailable, ErrUnavailable, nil} { // failpoint before ROLLBACK, failpoint after ROLLBACK, no failpoint
		require.ErrorIs(t, db.Do(t.Context(), "tried", Limits{Once: true, Undo: true}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
			return note(ctx, tx, "tried", repeated)
		}), want)
	}
	require.Empty(t, tries("tried"))

	ran := 0
	group := NewGroup(db, "grouped", GroupOptions[int, int]{
		Run: func(ctx context.Context, tx pgx.Tx, members []int) ([]int, error) {
			ran++
			return members, note(ctx, tx, "grouped", false)
		},
		Timeout: 20 * time.Second,
	})
	_, err = group.Submit(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, group.Stop(t.Context()))
	require.Equal(t, 3, ran, "the first try is rolled back, the second is committed unknown to the caller, the third is committed")
	require.Len(t, tries("grouped"), 2)
}
