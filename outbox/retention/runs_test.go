package retention_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/retention"
)

// A bulk run that has ended is deleted with the operator actions, because its filter and its reason
// are the operator's words. A bulk run that may continue stays, even if it is old.
func TestRunsThatHaveEndedGoWithTheAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Audit: 10 * day}
	for _, state := range []string{"running", "paused", "stopped", "done", "failed"} {
		w.run(t, `
			INSERT INTO hooklatch.replay_runs (action, filter, who, via, request_id, state)
			VALUES ('event.replay', '{"when": "body.email == \"ann@example.com\""}', 'ann', 'cli', $1, $1)`, state)
	}
	left := `SELECT count(*) FROM hooklatch.replay_runs`
	for range 9 {
		w.pass(t, day)
		require.False(t, w.keep(t, settings).Stopped)
	}
	require.Equal(t, 5, w.count(t, left))
	for range 3 {
		w.pass(t, day)
		require.False(t, w.keep(t, settings).Stopped)
	}
	require.Equal(t, 2, w.count(t, left))
	require.Equal(t, 2, w.count(t, left+` WHERE state IN ('running', 'paused')`))
}
