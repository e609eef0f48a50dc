package checks

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// An operator's pause blocks effects, and remains when the breaker closes. The list shows the
// operator and the reason.
func TestDestinationsArePausedAndResumed(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	require.Regexp(t, `(?m)^app +http +dst_app +active +closed +0 +0 +1 worker +-$`, clitest.Must(t, s.Args("destinations", "list")...))
	require.Equal(t, "app is paused\n", clitest.Must(t, s.Args("destinations", "pause", "app", "--reason", "they move house")...))
	require.Regexp(t, `(?m)^app +http +dst_app +paused +closed +0 +0 +1 worker +paused by \S+ at .*: they move house$`, clitest.Must(t, s.Args("destinations", "list")...))

	o, err := outbox.New(outbox.Options{Pool: s.Pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, failure(o.Fleet().Trip(t.Context(), "app", "10 attempts in a row failed", time.Hour)))
	require.Regexp(t, `(?m)^app .* paused +open +0 +0 +1 worker +paused by .*; breaker open since .*: 10 attempts in a row failed \(next probe .*\)$`, clitest.Must(t, s.Args("destinations", "list")...))
	require.NoError(t, failure(o.Fleet().CloseBreaker(t.Context(), "app")))
	var listed []fleet.DestinationState
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("destinations", "list", "--json")...)), &listed))
	require.Equal(t, "app", listed[0].Name)
	require.True(t, listed[0].Paused())
	require.True(t, listed[0].OperatorPaused)
	require.True(t, listed[0].QueuePaused)
	require.Equal(t, fleet.BreakerClosed, listed[0].Breaker)
	require.Equal(t, cli.SystemUser(), listed[0].PausedBy)
	require.Equal(t, "they move house", listed[0].PauseReason)

	// Effects that arrive during the pause wait, and can be parked.
	for _, id := range []string{"evt_1", "evt_2"} {
		clitest.Must(t, s.Args("send", "stripe", "--id", id)...)
	}
	require.Eventually(t, func() bool {
		return s.Counts(t, 2, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state = 'pending'`)
	}, clitest.Patience, clitest.Tick)
	var effects []ledger.Effect
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "list", "--event", "stripe/evt_1", "--json")...)), &effects))
	var key string
	for _, e := range effects {
		if e.Destination == "app" {
			key = e.IdempotencyKey
		}
	}
	require.Equal(t, key+" is parked\n", clitest.Must(t, s.Args("effects", "park", key, "--reason", "ask Ann")...))
	require.Regexp(t, `(?m)^app .* closed +0 +1 +1 worker +paused by `, clitest.Must(t, s.Args("destinations", "list")...))
	require.Contains(t, clitest.Must(t, s.Args("effects", "list", "--state", "attention")...), key)
	shown := clitest.Must(t, s.Args("effects", "show", key)...)
	require.Regexp(t, `(?m)^  \S+ \S+  pending$`, shown)
	require.Regexp(t, `(?m)^  \S+ \S+  pending -> parked: parked by \S+: ask Ann$`, shown)
	var parked struct {
		ledger.Effect
		life.History
	}
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "show", key, "--json")...)), &parked))
	require.Equal(t, key, parked.WireKey)
	require.Len(t, parked.Transitions, 2)
	require.Equal(t, ledger.EffectParked, parked.Transitions[1].To)
	require.Zero(t, parked.Attempt)

	require.Regexp(t, `^app is not probed: it was paused by \S+; resume it with: `+regexp.QuoteMeta(s.Printed("hooklatch destinations resume app"))+`$`, strings.TrimSpace(clitest.Must(t, s.Args("destinations", "probe", "app")...)))
	require.Equal(t, "app is resumed\n", clitest.Must(t, s.Args("destinations", "resume", "app")...))
	s.WaitDone(t, "stripe", "evt_2")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("effects", "park", "hl_none")...))
	require.Contains(t, c.Stderr.String(), "no effect has the key hl_none")
	for _, verb := range []string{"pause", "resume", "probe"} {
		c = clitest.Command{}
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("destinations", verb, "nobody")...))
		require.Contains(t, c.Stderr.String(), s.Printed("no destination is named nobody; list them with: hooklatch destinations list"))
	}
}

// Resuming a destination with an open breaker prints that its effects still wait, and the command
// that probes the destination.
func TestWhatStillHoldsADestinationIsSaid(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	require.Equal(t, "app is not probed: its breaker is closed and its effects are attempted\n", clitest.Must(t, s.Args("destinations", "probe", "app")...))
	o, err := outbox.New(outbox.Options{Pool: s.Pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, failure(o.Fleet().Trip(t.Context(), "app", "10 attempts in a row failed", time.Hour)))
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	require.Eventually(t, func() bool {
		return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state = 'pending'`)
	}, clitest.Patience, clitest.Tick)

	require.Regexp(t, `^app is resumed, but its effects still wait: breaker open since .*: 10 attempts in a row failed \(next probe .*\); probe it with: `+regexp.QuoteMeta(s.Printed("hooklatch destinations probe app"))+`$`,
		strings.TrimSpace(clitest.Must(t, s.Args("destinations", "resume", "app")...)))
	_, found := clitest.RunCheck(t, s.Args()...)
	require.Regexp(t, regexp.QuoteMeta(s.Printed("To probe now, run: hooklatch destinations probe app"))+`$`, found.Of("breaker")[0].Fix)
	require.Equal(t, "app is due for a probe: a worker starts it within ten seconds, if an effect is due\n", clitest.Must(t, s.Args("destinations", "probe", "app", "--reason", "it is back")...))
	s.WaitDone(t, "stripe", "evt_1")
	require.Eventually(t, func() bool { // the breaker is closed after the probe's effect is done
		return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'app' AND breaker_state = 'closed'`)
	}, clitest.Patience, clitest.Tick)
	require.Equal(t, "app is not probed: its breaker is closed and its effects are attempted\n", clitest.Must(t, s.Args("destinations", "probe", "app")...))
	require.Regexp(t, `(?m) cli +destination.probe +app +1 +due now +it is back$`, clitest.Must(t, s.Args("audit")...))
}

// A destination that was removed from the configuration is listed without a worker, reported by
// check, and can be retired. A destination that a worker still serves cannot be retired.
func TestDestinationThatIsGoneIsFoundAndRetired(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for _, statement := range []string{
		`INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, served_at) VALUES ('crm', 'http', 'dst_crm', '', '2026-01-02 03:04:05Z')`,
		`SELECT hooklatch.enqueue('crm', 'one', '{}'), hooklatch.enqueue('crm', 'two', '{}')`,
	} {
		_, err := s.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.Regexp(t, `(?m)^crm +http +dst_crm +active +closed +0 +0 +no worker since 2026-01-02T?.* +-$`, clitest.Must(t, s.Args("destinations", "list")...))
	_, found := clitest.RunCheck(t, s.Args()...)
	unserved := found.Of("effects_unserved")
	require.Len(t, unserved, 1)
	require.Regexp(t, `^2 effects have waited since \S+ for destination "crm", which is not in the configuration$`, unserved[0].Message)
	require.Equal(t, s.Printed("add it again, or run: hooklatch destinations retire crm"), unserved[0].Fix)

	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("destinations", "retire", "app")...))
	require.Contains(t, c.Stderr.String(), "app is in the configuration of a running process: remove it and restart")
	require.Equal(t, "crm is retired; 2 effects parked\n", clitest.Must(t, s.Args("destinations", "retire", "crm", "--as", "ann", "--reason", "we left them")...))
	require.NotContains(t, clitest.Must(t, s.Args("destinations", "list")...), "crm")
	require.Regexp(t, `(?m)ann +cli +destination.retire +crm +1 +retired +we left them$`, clitest.Must(t, s.Args("audit")...))
	_, found = clitest.RunCheck(t, s.Args()...)
	require.Equal(t, doctor.OK, found.Of("effects_unserved")[0].Level)
	_, err := s.Pool.Exec(t.Context(), `SELECT hooklatch.enqueue('crm', 'three', '{}')`)
	require.ErrorContains(t, err, "unknown destination 'crm'")
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("destinations", "retire", "nobody")...))
	require.Contains(t, c.Stderr.String(), "no destination is named nobody")
}

// failure returns the error of a call that also reports whether it changed anything.
func failure(_ bool, err error) error { return err }
