package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// celledConfig writes a configuration with a second cell, payments. The returned system contains
// only the path.
func celledConfig(t *testing.T, first, payments string) *clitest.System {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	text := fmt.Sprintf(`
database: {url: %q, allow: [fsync_off]}
cells: {payments: {url: %q, allow: [fsync_off]}}
sources:
  shop: {provider: token, secrets: [the-secret-0123456789], event_id: {pointer: /id}}
  pay: {provider: token, secrets: [the-secret-0123456789], event_id: {pointer: /id}, cell: payments}
`, first, payments)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return &clitest.System{ConfigPath: path}
}

func TestCommandsWorkOnCells(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t, pgtest.Empty()), pgtest.New(t, pgtest.Empty())
	s := celledConfig(t, pgtest.URL(t, first), pgtest.URL(t, payments))
	out := clitest.Must(t, s.Args("migrate", "up")...)
	require.Contains(t, out, "  cell main\n")
	require.Contains(t, out, "  cell payments\n")
	shown := func(args ...string) string { // ignores the exit code: no worker is running, which needs attention
		var c clitest.Command
		c.Run(t.Context(), s.Args(args...)...)
		return c.Stdout.String()
	}
	out = shown("status")
	require.Contains(t, out, "cell main\n")
	require.Contains(t, out, "cell payments\n")
	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("evt_1,2026-11-21T08:00:00Z\n"), 0o600))
	clitest.Must(t, s.Args("import", "keys", "pay", imported, "--yes", "--cell", "payments")...)
	_, err := payments.Exec(t.Context(), "UPDATE hooklatch.processed_events SET outcome = 'failed'")
	require.NoError(t, err)
	require.Contains(t, shown("check"), "cell payments: ")
	replay := cells.Flags{Config: s.ConfigPath, Cell: "payments"}.AddTo("hooklatch events replay --state failed --source pay")
	require.Contains(t, shown("check"), replay)
	require.Contains(t, shown("status"), replay)
	clitest.Must(t, clitest.ShellWords(t, replay)[1:]...)
	out = shown("status", "--cell", "payments")
	require.Contains(t, out, s.Printed("hooklatch send pay"))
	require.NotContains(t, out, s.Printed("hooklatch send shop"))

	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args("events", "list", "--cell", "payment")...))
	require.Contains(t, c.Stderr.String(), "has no such cell; its cells are main, payments")
}

func TestStatusNamesTheCellThatIsAway(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), "postgres://postgres@127.0.0.1:1/none")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("status")...), "an unavailable cell needs attention")
	require.Contains(t, c.Stdout.String(), "cell main\n")
	require.Contains(t, c.Stdout.String(), "cell payments did not answer: ")
	var up clitest.Command
	require.Equal(t, cli.ExitFailed, up.Run(t.Context(), s.Args("migrate", "up")...))
	require.Contains(t, up.Stderr.String(), "cell payments: ")
}

// Every command that lists rows of a database shows the rows of all cells, each with its cell.
func TestEveryListShowsAllCells(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t), pgtest.New(t)
	s := celledConfig(t, pgtest.URL(t, first), pgtest.URL(t, payments))
	var lists [][]string
	root := cli.NewRoot(&cli.Process{Name: clitest.TestName})
	for _, path := range clitest.AllCommands(root) {
		words := strings.Fields(path)
		cmd, _, err := root.Find(words)
		require.NoError(t, err)
		if name := cmd.Name(); cmd.InheritedFlags().Lookup("cell") == nil && cmd.LocalFlags().Lookup("cell") == nil {
			continue
		} else if name == "find" {
			lists = append(lists, append(words, "evt_1"))
		} else if name == "list" || name == "audit" {
			lists = append(lists, words)
		}
	}
	require.GreaterOrEqual(t, len(lists), 8)
	for _, words := range lists {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			t.Parallel()
			out := clitest.Must(t, s.Args(words...)...)
			require.Regexp(t, `(?s)^cell main\n.+\ncell payments\n.+`, out)
		})
	}

	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("evt_1,2026-11-21T08:00:00Z\nevt_2,2026-11-21T08:00:00Z\n"), 0o600))
	clitest.Must(t, s.Args("import", "keys", "shop", imported, "--yes")...)
	clitest.Must(t, s.Args("import", "keys", "pay", imported, "--yes", "--cell", "payments")...)
	for _, words := range [][]string{{"events", "list", "--json"}, {"find", "evt_1", "--exact", "--json"}} {
		var cells []string
		for decoder := json.NewDecoder(strings.NewReader(clitest.Must(t, s.Args(words...)...))); decoder.More(); {
			type row struct {
				Cell   string `json:"cell"`
				Source string `json:"source"`
				Name   string `json:"name"`
			}
			var rows []row
			var value json.RawMessage
			require.NoError(t, decoder.Decode(&value))
			if json.Unmarshal(value, &rows) != nil {
				rows = make([]row, 1)
				require.NoError(t, json.Unmarshal(value, &rows[0]))
			}
			for _, r := range rows {
				cells = append(cells, r.Cell+" "+cmp.Or(r.Source, r.Name))
			}
		}
		want := []string{"main shop", "main shop", "payments pay", "payments pay"}
		if words[0] == "find" {
			want = []string{"main shop/evt_1", "payments pay/evt_1"}
		}
		require.Equal(t, want, cells, words)
	}

	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), s.Args("events", "list", "--limit", "1")...))
	require.Contains(t, c.Stderr.String(), "events list --cell payments --config ", "the command that continues a list names the cell")
	for _, args := range [][]string{{"--follow"}, {"--cursor", "x"}} {
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args(append([]string{"events", "list"}, args...)...)...))
		require.Contains(t, c.Stderr.String(), args[0]+" works on one cell: add --cell with one of main, payments")
	}
	for _, config := range []string{s.ConfigPath, "none.yaml"} { // misuse is reported before other errors
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "events", "list", "--limit", "0", "--config", config))
		require.Empty(t, c.Stdout.String())
	}
}

// A printed command repeats the flags of the process, if the command declares them.
func TestPrintedCommandsHaveTheFlagsOfTheProcess(t *testing.T) {
	t.Parallel()
	root := cli.NewRoot(&cli.Process{Name: clitest.TestName})
	ofAll := []string{"migrate up", "migrate down", "migrate status", "status"} // these print a section for each cell
	unconfigured := []string{"dev", "licenses", "providers", "version"}
	given := cells.Flags{Config: "its own.yaml", DatabaseURL: "postgres://db1/x?sslmode=disable", Cell: "payments"}
	for _, path := range clitest.AllCommands(root) {
		cmd, _, err := root.Find(strings.Fields(path))
		require.NoError(t, err)
		if !cmd.Runnable() || cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") || strings.HasPrefix(path, "completion") {
			continue
		}
		text := clitest.TestName + " " + path
		if path == "backfill" {
			text += " stripe"
		}
		declares := func(flag string) bool {
			return cmd.InheritedFlags().Lookup(flag) != nil || cmd.LocalFlags().Lookup(flag) != nil
		}
		onlyCell, all := "", ""
		if !slices.Contains(unconfigured, path) {
			all += " --config 'its own.yaml'"
			if declares("database-url") {
				all += " --database-url 'postgres://db1/x?sslmode=disable'"
			}
			if declares("cell") && !slices.Contains(ofAll, path) {
				onlyCell = " --cell payments"
				all += onlyCell
			}
		}
		sentence := func(words string) string { return "run `" + text + words + "` --yes, or " + text + words }
		require.Equal(t, sentence(all), given.AddTo(sentence("")))
		require.Equal(t, sentence(onlyCell), cells.Commands(sentence(""), "payments"))
		require.Equal(t, text, cells.Commands(text, "main"))
		require.Equal(t, text, cells.Commands(text, ""))
		require.Equal(t, sentence(all), given.AddTo(sentence(all)), "the flags are not added twice")
		withoutCell := given
		withoutCell.Cell = ""
		require.Equal(t, sentence(all), withoutCell.AddTo(sentence(all)))
	}
}

func TestAListNamesTheCellThatIsAway(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), "postgres://postgres@127.0.0.1:1/none")
	for _, args := range [][]string{{"events", "list"}, {"events", "list", "--json"}} {
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(args...)...))
		require.Contains(t, c.Stderr.String(), "cell payments: ")
		if len(args) == 2 {
			require.Equal(t, "cell main\nno events\n", c.Stdout.String())
		} else {
			require.Equal(t, "[]\n", c.Stdout.String())
		}
	}
}

// moved moves the source shop to the cell payments, and returns the command's output. On a busy
// machine, a move may fail because its fence or a transaction reaches a time limit. Only in this
// case, moved runs the command again.
func moved(t *testing.T, s *clitest.System, args ...string) (output string) {
	t.Helper()
	for began := time.Now(); ; {
		var c clitest.Command
		if c.Run(t.Context(), s.Args(append([]string{"cells", "move", "shop", "--to", "payments", "--yes"}, args...)...)...) == cli.ExitOK {
			return c.Stdout.String()
		}
		require.Regexp(t, `the fence ended before the rest was copied|deadline exceeded|outbox is unavailable`, c.Stderr.String())
		require.Less(t, time.Since(began), clitest.Patience)
	}
}

// The command refuses a move that the configuration or a running process does not expect. After a
// move, the new cell knows the ids of the old one.
func TestCellsMoveFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t), pgtest.New(t)
	s := celledConfig(t, pgtest.URL(t, first), pgtest.URL(t, payments))
	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("evt_1,2026-11-21T08:00:00Z\n"), 0o600))
	clitest.Must(t, s.Args("import", "keys", "shop", imported, "--yes")...)

	refused := func(want string, args ...string) {
		t.Helper()
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(append([]string{"cells", "move"}, args...)...)...))
		require.Contains(t, c.Stderr.String(), want)
	}
	refused("does not say that the source moves: set cell: payments and moved_from: main for the source shop, and reload all processes", "shop", "--to", "payments", "--yes")
	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args("cells", "move", "shop", "--to", "payment", "--yes")...))
	require.Contains(t, c.Stderr.String(), "--to payment: "+s.ConfigPath+" has no such cell; its cells are main, payments")
	refused(`has no source "shoe"`, "shoe", "--to", "payments", "--yes")
	written, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	text := strings.Replace(string(written), "event_id: {pointer: /id}}", "event_id: {pointer: /id}, cell: payments, moved_from: main}", 1)
	require.NoError(t, os.WriteFile(s.ConfigPath, []byte(text), 0o600))
	_, err = first.Exec(t.Context(), "INSERT INTO hooklatch.processes (name, kind, version, config_hash, settings) VALUES ('host-1', 'serve', 'v1', 'another', '{}')")
	require.NoError(t, err)
	refused("the configuration of some processes differs from "+s.ConfigPath+": host-1; reload them", "shop", "--to", "payments", "--yes")
	_, err = first.Exec(t.Context(), "DELETE FROM hooklatch.processes")
	require.NoError(t, err)
	require.Contains(t, clitest.Must(t, s.Args("cells", "move", "shop", "--to", "payments")...), "with the same command and --yes")
	require.Contains(t, clitest.Must(t, s.Args("cells", "move", "shop", "--to", "payments", "--abandon")...), "abandon the move of shop from the cell main to the cell payments with the same command and --yes")
	refused("no such move has begun", "shop", "--to", "payments", "--abandon", "--yes")
	var known int
	require.NoError(t, payments.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.processed_events").Scan(&known))
	require.Zero(t, known)

	for range 2 { // the second call finds that the source has moved
		require.Equal(t, "shop has moved to the cell payments; its earlier events are still in the cell main\n", moved(t, s, "--as", "ann"))
	}
	require.NoError(t, payments.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'evt_1'").Scan(&known))
	require.Equal(t, 1, known)
	refused("the source has already moved: run the same command without --abandon", "shop", "--to", "payments", "--abandon", "--yes")
	require.Contains(t, clitest.Must(t, s.Args("audit", "--cell", "payments")...), "moved from the cell main")
	var status clitest.Command // no worker is running, which needs attention
	status.Run(t.Context(), s.Args("status", "--cell", "main")...)
	require.NotContains(t, status.Stdout.String(), s.Printed("hooklatch send shop"))
	require.Contains(t, clitest.Must(t, s.Args("audit")...), "moved to the cell payments")
}

// Events and keys of a moving source are stored only in the cell that stores its events now. In any
// other cell, backfill would find all events missing, and imported keys would have no effect.
func TestWhatStoresEventsOfAMovingSourceNamesTheCell(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), pgtest.URL(t, pgtest.New(t)))
	keys := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(keys, []byte("evt_1,2026-11-21T08:00:00Z\n"), 0o600))
	written, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	text := strings.Replace(string(written), "event_id: {pointer: /id}}", "event_id: {pointer: /id}, cell: payments, moved_from: main}", 1)
	require.NoError(t, os.WriteFile(s.ConfigPath, []byte(text), 0o600))
	told := func(want string, refusing, storing string) {
		t.Helper()
		for _, args := range [][]string{{"backfill", "shop", "--since", "1h", "--yes"}, {"import", "keys", "shop", keys, "--yes"}} {
			var c clitest.Command
			require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(append(args, "--cell", refusing)...)...), args)
			require.Contains(t, c.Stderr.String(), want, args)
			c = clitest.Command{}
			c.Run(t.Context(), s.Args(append(args, "--cell", storing)...)...) // this provider has no list for backfill
			require.NotContains(t, c.Stderr.String(), "moved", args)
		}
	}
	told(`source "shop" has not moved yet: add --cell main`, "payments", "main")
	moved(t, s)
	told(`source "shop" has moved: add --cell payments`, "main", "payments")
}

// If the configuration lacks only moved_from, the command does not advise setting it to the new
// cell.
func TestCellsMoveAdvisesWhatTheConfigurationAccepts(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), pgtest.URL(t, pgtest.New(t)))
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("cells", "move", "pay", "--to", "payments", "--yes")...))
	require.NotContains(t, c.Stderr.String(), "moved_from: payments")
	require.Contains(t, c.Stderr.String(), "moved_from")
}

// The new cell of a moved source does not say that another system accepted the events of the old
// cell.
func TestAMovedEventIsNotFromAnotherSystem(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), pgtest.URL(t, pgtest.New(t)))
	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("evt_1,2026-11-21T08:00:00Z\n"), 0o600))
	clitest.Must(t, s.Args("import", "keys", "shop", imported, "--yes")...)
	written, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	text := strings.Replace(string(written), "event_id: {pointer: /id}}", "event_id: {pointer: /id}, cell: payments, moved_from: main}", 1)
	require.NoError(t, os.WriteFile(s.ConfigPath, []byte(text), 0o600))
	moved(t, s)
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "shop", "evt_1", "--cell", "payments")...), "another cell or another system accepted the event")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("events", "replay", "shop", "evt_1", "--cell", "payments")...))
	require.Contains(t, c.Stderr.String(), "another cell or another system accepted it")
}

// The command that send prints finds the event in the cell of its source.
func TestSendNamesTheCellOfTheEvent(t *testing.T) {
	t.Parallel()
	payments := pgtest.URL(t, pgtest.New(t))
	s := clitest.NewSystem(t, clitest.SystemOptions{YAML: func(d *cli.DevSettings) string {
		return fmt.Sprintf(`
database: {url: %s}
cells: {payments: {url: %s, allow: [fsync_off]}}
gateway: {listen: "127.0.0.1:0"}
admin: {listen: "localhost:0"}
sources:
  shop: {provider: stripe, secrets: [the-secret-0123456789]}
  pay: {provider: stripe, secrets: [the-secret-0123456789], cell: payments}
destinations: {app: {http: {url: "http://127.0.0.1:9/"}}}
routes: [{name: app, from: "*", to: app}]
`, firstrun.Scalar(d.Database.Reveal()), firstrun.Scalar(payments))
	}})
	for _, source := range []string{"shop", "pay"} {
		var out string
		require.Eventually(t, func() bool { // one cell may start later than the other
			var c clitest.Command
			code := c.Run(t.Context(), s.Args("send", source)...)
			out = c.Stdout.String()
			return code == cli.ExitOK
		}, clitest.Patience, clitest.Tick)
		_, command, found := strings.Cut(out, "show it with: hooklatch ")
		require.True(t, found, out)
		require.Contains(t, clitest.Must(t, strings.Fields(command)...), source+"/evt_")
	}
}

// A command on a source of another cell fails and names that cell.
func TestACommandOnASourceOfAnotherCellNamesTheCell(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), pgtest.URL(t, pgtest.New(t)))
	for _, args := range []string{"events show pay evt_1", "events replay pay evt_1", "events release pay evt_1", "events drop pay evt_1", "events erase pay evt_1", "events erase pay evt_1 --yes", "backfill pay"} {
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(strings.Fields(args)...)...), args)
		require.Contains(t, c.Stderr.String(), "--cell payments", args)
		c = clitest.Command{}
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(append(strings.Fields(args), "--cell", "payments")...)...), args)
		require.NotContains(t, c.Stderr.String(), "--cell payments", args)
	}
}

// A destination and an alert exist in every cell: a command that changes one of them says in which
// cell.
func TestACommandOnOneOfManyCellsNamesTheCell(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t), pgtest.New(t)
	s := celledConfig(t, pgtest.URL(t, first), pgtest.URL(t, payments))
	for _, pool := range []*pgxpool.Pool{first, payments} {
		_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('app', 'http', 'dst_app', '')`)
		require.NoError(t, err)
	}
	for _, args := range []string{"destinations pause app", "destinations resume app", "destinations probe app", "alerts mute breaker_open", "alerts mute breaker_open --for 0s"} {
		require.Contains(t, clitest.Must(t, s.Args(strings.Fields(args)...)...), " in the cell main", args)
		require.Contains(t, clitest.Must(t, s.Args(append(strings.Fields(args), "--cell", "payments")...)...), " in the cell payments", args)
		require.NotContains(t, clitest.Must(t, append(strings.Fields(args), "--config", clitest.WriteConfig(t, pgtest.URL(t, first)))...), "cell", args)
	}
	require.Contains(t, clitest.Must(t, s.Args("destinations", "retire", "app")...), "app is retired in the cell main")
}

// If a command does not find an effect or a refused delivery in its cell, the error says how to
// search all cells.
func TestWhatIsNotFoundMayBeInAnotherCell(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), pgtest.URL(t, pgtest.New(t)))
	for _, args := range []string{"effects show hl_1", "effects retry hl_1", "effects erase hl_1", "quarantine show 0197b2c4-0000-7000-8000-000000000000", "quarantine drop 0197b2c4-0000-7000-8000-000000000000"} {
		for _, cell := range [][]string{nil, {"--cell", "payments"}} {
			var c clitest.Command
			require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(append(strings.Fields(args), cell...)...)...), args)
			_, advised, found := strings.Cut(strings.TrimSpace(c.Stderr.String()), "search all cells with: hooklatch ")
			require.True(t, found, c.Stderr.String())
			require.Contains(t, clitest.Must(t, s.Args(clitest.ShellWords(t, advised)...)...), "cell payments\n", "it searches all cells")
		}
	}
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "effects", "show", "hl_1", "--config", clitest.WriteConfig(t, pgtest.URL(t, pgtest.New(t)))))
	require.NotContains(t, c.Stderr.String(), "cell")
}

// An erasure works on one cell, and names the other cells that may have the data.
func TestAnErasureNamesTheCellsThatItLeavesOut(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t), pgtest.New(t)
	s := celledConfig(t, pgtest.URL(t, first), pgtest.URL(t, payments))
	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("evt_1,2026-11-21T08:00:00Z\nevt_2,2026-11-21T08:00:00Z\n"), 0o600))
	clitest.Must(t, s.Args("import", "keys", "shop", imported, "--yes")...)
	erase := func(args ...string) (told string) {
		var c clitest.Command
		require.Zero(t, c.Run(t.Context(), s.Args(append([]string{"events", "erase"}, args...)...)...), args)
		return c.Stderr.String()
	}
	const others = "this command works on the cell main only; the cell payments may have the data too: repeat the command with --cell payments"
	require.Contains(t, erase("--contains", "ada@example.com"), others)
	require.Contains(t, erase("--contains", "ada@example.com", "--yes"), others)
	require.NotContains(t, erase("--contains", "ada@example.com", "--cell", "main"), "repeat the command")
	require.NotContains(t, erase("shop", "evt_1", "--yes"), "repeat the command", "the source is in one cell")
	require.NotContains(t, erase("--source", "shop", "--yes"), "repeat the command", "the source is in one cell")

	// The events of a source that has moved are in the former cell, and the new cell knows only
	// their ids.
	written, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	text := strings.Replace(string(written), "event_id: {pointer: /id}}", "event_id: {pointer: /id}, moved_from: payments}", 1)
	require.NoError(t, os.WriteFile(s.ConfigPath, []byte(text), 0o600))
	require.Contains(t, erase("shop", "evt_1", "--yes"), others)
	require.Contains(t, erase("--source", "shop"), others)
}
