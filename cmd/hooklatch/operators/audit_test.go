package operators

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Operator actions appear in effects show, in events show and in audit.
func TestWhoOrderedWhatIsShown(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	require.Equal(t, "no operator actions\n", clitest.Must(t, s.Args("audit")...))
	clitest.Must(t, s.Args("destinations", "pause", "app", "--as", "ann", "--reason", "deploy")...)
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	var effects []ledger.Effect
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "list", "--destination", "app", "--json")...)), &effects))
		return len(effects) == 1
	}, clitest.Patience, clitest.Tick)
	key := effects[0].IdempotencyKey
	clitest.Must(t, s.Args("effects", "cancel", key, "--as", "ann", "--reason", "by mistake")...)
	clitest.Must(t, s.Args("effects", "retry", key, "--as", "alice", "--reason", "it was not")...)
	clitest.Must(t, s.Args("effects", "park", key, "--as", "alice")...)
	clitest.Must(t, s.Args("events", "replay", "stripe/evt_1", "--as", "bob", "--reason", "once more")...)
	// The replay reopens the effect at once. Without this wait, a worker might attempt it before
	// the event is dispatched again.
	require.Eventually(t, func() bool { return s.IsDispatched(t, "stripe", "evt_1") }, clitest.Patience, clitest.Tick)
	clitest.Must(t, s.Args("destinations", "resume", "app")...)
	s.WaitDone(t, "stripe", "evt_1")

	shown := clitest.Must(t, s.Args("effects", "show", key)...)
	require.Regexp(t, `(?s)timeline\n  \S+ \S+  created\n.* cancelled -> pending: retried by alice: it was not\n.* parked -> pending: replayed by bob: once more\n.* attempt 1, .*\ntransitions`, shown)
	shown = clitest.Must(t, s.Args("events", "show", "stripe/evt_1")...)
	require.Regexp(t, `(?s)timeline\n.* received and committed\n.*  dispatched\n.* app: cancelled -> pending: retried by alice: it was not\n`+
		`.*  replayed by bob, generation 2: once more\n.*  dispatched\n.* app: attempt 1`, shown)

	var log []ledger.OperatorAction
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("audit", "--since", "1h", "--json")...)), &log))
	require.Len(t, log, 6)
	require.Equal(t, ledger.ActionResumeDestination, log[0].Action)
	require.Equal(t, cli.SystemUser(), log[0].Who)
	require.Equal(t, "cli", log[0].Via)
	require.Regexp(t, `(?m)^\S+ \S+  ann +cli  destination.pause +app +1 +paused +deploy$`, clitest.Must(t, s.Args("audit")...))

	for _, flags := range [][]string{
		{"--who", "bob"}, {"--action", "event.replay"}, {"--target", "stripe/evt_1"}, {"--who", "bob", "--since", "1h", "--until", time.Now().AddDate(1, 0, 0).Format(time.DateOnly)},
	} {
		require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args(append([]string{"audit", "--json"}, flags...)...)...)), &log))
		require.Len(t, log, 1, flags)
		require.Equal(t, "bob", log[0].Who)
	}
	require.Equal(t, "no operator actions\n", clitest.Must(t, s.Args("audit", "--until", "2020-01-01")...))

	// An effect that is done cannot be retried, parked or cancelled.
	for order, text := range map[string]string{
		"retry":  "the effect is done: an effect that succeeded cannot be retried",
		"park":   "the effect is done: only pending, started and in-doubt effects can be parked",
		"cancel": "the effect is done: it can no longer be cancelled",
	} {
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("effects", order, key)...))
		require.Contains(t, c.Stderr.String(), text)
	}
}
