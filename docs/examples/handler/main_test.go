package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// asProgram is the environment variable that makes the test binary run as the program that it
// tests.
const asProgram = "HANDLER_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(pgtest.Main(m))
}

// I10: the process is killed with SIGKILL repeatedly while it handles events, in the middle of
// transactions and around their COMMIT. In the end the handler's writes for each event exist
// exactly once.
func TestWritesHappenOnceWhenKilled(t *testing.T) {
	t.Parallel()
	const perKill, minKills, minInterrupted = 8, 40, 20
	pool := pgtest.New(t)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), paymentsTable+`;
		CREATE TABLE writes (invoice text);
		CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				INSERT INTO writes (invoice) VALUES (NEW.invoice);
				RETURN NULL;
			END $$;
		CREATE TRIGGER count_write AFTER INSERT OR UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION count_write();`)
	require.NoError(t, err)
	received := func() int {
		return count(t, pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`)
	}
	events, kills, interrupted := 0, 0, 0
	for killing := true; killing || received() > 0; {
		killing = kills < minKills || interrupted < minInterrupted && kills < 5*minKills
		if killing {
			acceptAll(t, box, events, perKill) // enough events that some are left at the kill, even if the test stalls before it
			events += perKill
		}
		before := count(t, pool, `SELECT count(*) FROM payments`)
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+pgtest.URL(t, pool))
		require.NoError(t, program.Start())
		require.Eventually(t, func() bool { // the process has begun to commit
			return count(t, pool, `SELECT count(*) FROM payments`) > before || received() == 0
		}, 2*time.Minute, 5*time.Millisecond)
		if killing {
			<-time.After(time.Duration(rand.IntN(5_000)) * time.Microsecond) // kill the process at a random moment
			require.NoError(t, program.Process.Kill())
			kills++
		} else {
			require.Eventually(t, func() bool { return received() == 0 }, 2*time.Minute, 50*time.Millisecond)
			require.NoError(t, program.Process.Signal(os.Interrupt))
		}
		_ = program.Wait()
		waitForBackends(t, pool)
		// River's rescuer would do the same a minute later.
		tag, err := pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET state = 'available', attempt = 0 WHERE state = 'running'`)
		require.NoError(t, err)
		interrupted += int(tag.RowsAffected())
	}
	t.Logf("%d kills interrupted %d runs", kills, interrupted)
	require.GreaterOrEqual(t, interrupted, minInterrupted, "too few kills interrupted a run")
	require.Equal(t, events, count(t, pool, `SELECT count(*) FROM payments`))
	require.Equal(t, events, count(t, pool, `SELECT count(*) FROM writes`), "committed writes; an upsert hides repeated ones")
	require.Equal(t, events, count(t, pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'dispatched'`))
}

func acceptAll(t *testing.T, box *outbox.Outbox, first, events int) {
	t.Helper()
	for i := first; i < first+events; i++ {
		id := fmt.Sprintf("evt_%d", i)
		_, err := box.Accept(t.Context(), outbox.Delivery{
			Source:   "stripe",
			Provider: "stripe",
			Handlers: true,
			Body:     fmt.Appendf(nil, `{"id":%q,"data":{"object":{"id":"in_%d","amount_paid":4200}}}`, id, i),
			Events:   []outbox.Incoming{{ID: identity.EventID(id), Type: "invoice.paid"}},
		})
		require.NoError(t, err)
	}
}

// waitForBackends waits until the server has noticed that the client is dead. Only then are the
// outcomes of the dead client's transactions decided.
func waitForBackends(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE '%transaction%'`) == 0
	}, 2*time.Minute, 5*time.Millisecond)
}

func count(t *testing.T, pool *pgxpool.Pool, query string) int {
	t.Helper()
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n))
	return n
}
