package operators

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

func TestErasedEventsSaySoEverywhere(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for _, id := range []string{"id-1", "id-2", "id-3"} {
		clitest.Must(t, s.Args("send", "github", "--id", id)...)
		s.WaitDone(t, "github", id)
	}
	require.Contains(t, clitest.Must(t, s.Args("events", "erase", "github", "id-1")...), "with 1 effect\nerase it with the same command and --yes\n")
	require.Equal(t, 0, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log`))
	require.Equal(t, "erased github/id-1\n", clitest.Must(t, s.Args("events", "erase", "github/id-1", "--yes", "--as", "ann", "--reason", "request 17")...))

	shown := clitest.Must(t, s.Args("events", "show", "github", "id-1")...)
	require.Regexp(t, `\nbody +erased by ann on 20`, shown)
	require.Regexp(t, `Z  erased by ann\n`, shown)
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", "id-1", "--json")...), `"erased_at"`)
	var key string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT idempotency_key FROM hooklatch.effects WHERE event_id = 'id-1'`).Scan(&key))
	require.Regexp(t, `\ncontent +erased by ann on 20`, clitest.Must(t, s.Args("effects", "show", key)...))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"github/id-1 was erased by ann on 20", []string{"events", "show", "github", "id-1", "--raw"}},
		{"its content was erased on 20", []string{"events", "replay", "github", "id-1"}},
		{"was removed on 20", []string{"effects", "show", key, "--body"}},
		{"it was created by event github/id-1: erase the event", []string{"effects", "erase", key, "--yes"}},
		{"no event is stored as github/id-9", []string{"events", "erase", "github", "id-9", "--yes"}},
		{"no effect has the key hl_1", []string{"effects", "erase", "hl_1", "--yes"}},
	} {
		var out clitest.Command
		require.Equal(t, cli.ExitFailed, out.Run(t.Context(), s.Args(c.args...)...), c.args)
		require.Contains(t, out.Stderr.String(), c.want, c.args)
	}

	when := []string{"events", "erase", "--source", "github", "--when", `event.id == "id-2"`}
	require.Regexp(t, `^1 event selected\n(?s:.*)id-2(?s:.*)\nerase them with the same command and --yes\n$`, clitest.Must(t, s.Args(when...)...))
	list := clitest.Must(t, s.Args(append(when, "--yes", "--as", "ann")...)...)
	require.Equal(t, "erased github/id-2\n", list)
	var filter string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT filter::text FROM hooklatch.operator_log WHERE target = 'github/id-2'`).Scan(&filter))
	require.Regexp(t, `"when": "event.id == sha256:[0-9a-f]{16}"`, filter)

	name := filepath.Join(t.TempDir(), "erased.txt")
	require.NoError(t, os.WriteFile(name, []byte("\ufefferased github/id-1\n"+list+"github/id-9\n"), 0o600))
	require.Equal(t, "3 listed\nerase them again with the same command and --yes\n", clitest.Must(t, s.Args("events", "erase", "--again", name)...))
	require.Equal(t, "2 of 3 erased again, 1 not found, 0 unfinished\n", clitest.Must(t, s.Args("events", "erase", "--again", name, "--yes")...))
	audit := clitest.Must(t, s.Args("audit")...)
	require.Contains(t, audit, "event.erase")
	require.Contains(t, audit, "request 17")
	require.Equal(t, 5, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'event.erase'`), "four erasures, and the run to which one of them belongs")
	require.Equal(t, list, clitest.Must(t, s.Args("events", "erase", "--list", "1")...))
	require.Contains(t, clitest.Must(t, s.Args("runs", "show", "1")...), "1 of 1 event erased")
}

// The list of erased events has one line for each event, whatever characters its id has, and
// --again reads it.
func TestTheListOfErasedEventsCanBeReadAgain(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	var keys, printed strings.Builder
	ids := []string{"two\nlines", "end\r", "esc\x1b[31m"}
	for _, id := range ids {
		keys.WriteString(`"` + id + `",` + time.Now().UTC().Format(time.RFC3339) + "\n")
	}
	file := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(file, []byte(keys.String()), 0o600))
	clitest.Must(t, s.Args("import", "keys", "stripe", file, "--yes")...)
	for _, id := range ids {
		printed.WriteString(clitest.Must(t, s.Args("events", "erase", "stripe", id, "--yes")...))
	}
	list := printed.String()
	require.Equal(t, `erased "stripe/two\nlines"`+"\n"+`erased "stripe/end\r"`+"\n"+`erased "stripe/esc\x1b[31m"`+"\n", list)
	again := clitest.Command{Stdin: list}
	require.Zero(t, again.Run(t.Context(), s.Args("events", "erase", "--again", "-", "--yes")...), again.Stderr.String())
	require.Equal(t, "3 of 3 erased again, 0 not found, 0 unfinished\n", again.Stdout.String())

	cut := clitest.Command{Stdin: list[:len(list)-3]}
	require.Equal(t, cli.ExitMisused, cut.Run(t.Context(), s.Args("events", "erase", "--again", "-", "--yes")...))
	require.Contains(t, cut.Stderr.String(), "it is neither an event nor an effect")
}

func TestMisuseOfEraseIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"events", "erase"},
		{"events", "erase", "nothing"},
		{"events", "erase", "github", "id-1", "--source", "github"},
		{"events", "erase", "github/id-1", "--again", "x"},
		{"events", "erase", "--source", "github", "--again", "x"},
		{"events", "erase", "--list", "1", "--again", "x"},
		{"events", "erase", "github/id-1", "--detach"},
		{"events", "erase", "--state", "odd"},
		{"events", "erase", "--when", "body."},
		{"effects", "erase"},
	} {
		var out clitest.Command
		require.Equal(t, cli.ExitMisused, out.Run(t.Context(), args...), args)
	}
}

// A worker replaces the values that a source redacts, once redact_after has passed since the
// event's last effect.
func TestSourcesRedactWhatTheySay(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) {
		github := cfg.Sources["github"]
		github.Redact, github.RedactAfter = []string{"/sender"}, 1
		cfg.Sources["github"] = github
	}})
	body := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(body, []byte(`{"zen": "x","sender": {"login":"jane"}}`), 0o600))
	clitest.Must(t, s.Args("send", "github", body, "--id", "id-1")...)
	s.WaitDone(t, "github", "id-1")
	// River's leader inserts this job every minute.
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO hooklatch.river_job (kind, queue, args, max_attempts) VALUES ('upkeep.redact', 'upkeep', '{}', 1)`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events WHERE redacted_at IS NOT NULL`)
	}, clitest.Patience, clitest.Tick)
	require.Equal(t, `{"zen": "x","sender": "redacted"}`, clitest.Must(t, s.Args("events", "show", "github", "id-1", "--raw")...))
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", "id-1")...), "the body was changed, so the event cannot be replayed")
}

// Lists, exports and erasures search for a text in every field, for every provider. The operator
// log contains only the text's hash.
func TestEventsAreSelectedByATextInThem(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for source, id := range map[string]string{"stripe": "evt_1", "github": "id-1"} {
		clitest.Must(t, s.Args("send", source, "--id", id)...)
		s.WaitDone(t, source, id)
	}
	s.Settle(t)
	_, err := s.Pool.Exec(t.Context(), `UPDATE hooklatch.deliveries SET body = convert_to('{"id":"id-1","deep":[{"to":"jenny.rosen\u0040example.com"}]}', 'UTF8')
		WHERE delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = 'id-1')`)
	require.NoError(t, err)
	for _, command := range []string{"list", "export"} {
		found := clitest.Must(t, s.Args("events", command, "--contains", "jenny.rosen@example.com")...)
		require.Contains(t, found, "evt_1", command)
		require.Contains(t, found, "id-1", command)
		found = clitest.Must(t, s.Args("events", command, "--contains", "jenny.rosen@example.com", "--when", `event.source == "github"`)...)
		require.NotContains(t, found, "evt_1", command)
		require.NotContains(t, clitest.Must(t, s.Args("events", command, "--contains", "nobody@example.com")...), "evt_1", command)
	}
	require.Equal(t, "erased stripe/evt_1\n", clitest.Must(t, s.Args("events", "erase", "--source", "stripe", "--contains", "jenny.rosen@example.com", "--yes")...))
	var filter string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT filter::text FROM hooklatch.operator_log WHERE target = 'stripe/evt_1'`).Scan(&filter))
	require.Regexp(t, `"contains": "sha256:[0-9a-f]{16}"`, filter)
	require.NotContains(t, filter, "jenny")
}
