package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestStandbysAreCounted(t *testing.T) {
	t.Parallel()
	message := func(f facts, check string) string {
		for _, found := range f.durability(ServerOptions{}) {
			if found.Check == check {
				return found.Message
			}
		}
		return ""
	}
	require.Contains(t, message(facts{AsyncStandbys: 1}, CheckDurability), "1 standby follows asynchronously: ")
	require.Contains(t, message(facts{AsyncStandbys: 2}, CheckDurability), "2 standbys follow asynchronously: ")
	require.Equal(t, "1 synchronous standby is connected", message(facts{StandbyNames: "b", SyncStandbys: 1}, "standby"))
	require.Equal(t, "3 synchronous standbys are connected", message(facts{StandbyNames: "b", SyncStandbys: 3}, "standby"))
}

func TestWhatAnEventSurvivesIsSaid(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		facts   facts
		level   Level
		message string
	}{
		{facts{}, OK, "this server alone has it on disk. The event survives a crash, but not the loss of this machine"},
		{facts{AsyncStandbys: 1}, Warning, "a failover loses the most recent events"},
		{
			facts{StandbyNames: "b, c", SynchronousCommit: "on"}, OK,
			"an event is answered with 2xx when a standby (the first in synchronous_standby_names) has it on disk: it survives the loss of this machine, provided that no other standby is promoted",
		},
		{facts{StandbyNames: "*", SynchronousCommit: "remote_apply"}, OK, "has it on disk and has applied it: "},
		{facts{StandbyNames: "FIRST 2 (b, c)", SynchronousCommit: "on"}, OK, "when 2 standbys (the first in synchronous_standby_names) have it on disk: "},
		{facts{StandbyNames: "any 2 (b, c, d)", SynchronousCommit: "remote_apply"}, OK, "when 2 standbys (any in synchronous_standby_names) have it on disk and have applied it: "},
		{facts{StandbyNames: "1 (b)", SynchronousCommit: "remote_write"}, OK, "is promoted; transactions that your applications begin themselves may be lost, because synchronous_commit is remote_write"},
	} {
		found := one.facts.survival()
		require.Equal(t, one.level, found.Level)
		require.Contains(t, found.Message, one.message)
	}
	for _, found := range (facts{InRecovery: true}).durability(ServerOptions{}) {
		require.NotEqual(t, CheckDurability, found.Check, "a standby acknowledges nothing")
	}
}

// With a role that may not see whether a standby is synchronous, Server reports no missing standby.
func TestAStandbyThatTheRoleCannotSeeIsNotMissing(t *testing.T) {
	t.Parallel()
	for hidden, level := range map[int]Level{0: Problem, 1: OK} {
		for _, found := range (facts{StandbyNames: "b", HiddenStandbys: hidden}).durability(ServerOptions{}) {
			if found.Check == "standby" {
				require.Equal(t, level, found.Level, found.Message)
			}
		}
	}
}

// The commands for a table with many dead rows name its schema, which is not in the search_path.
func TestTheCommandsForDeadRowsWork(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	fix := facts{DeadJobs: maxDeadJobs}.deadJobs(schema.Default).Fix
	for _, command := range []string{"VACUUM", "ALTER TABLE"} {
		_, rest, found := strings.Cut(fix, command)
		require.True(t, found, fix)
		rest, _, _ = strings.Cut(rest, ";")
		_, err := pool.Exec(t.Context(), command+rest)
		require.NoError(t, err, command+rest)
	}
}
