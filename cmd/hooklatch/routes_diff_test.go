package main_test

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// edited returns the path of a copy of the system's configuration in which a text is replaced.
func edited(t *testing.T, s *clitest.System, old, instead string) string {
	t.Helper()
	text, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	path := filepath.Join(t.TempDir(), "new.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, instead, 1)), 0o600))
	return path
}

// A comparison on stored events finds a typo in a route before the route is in use. The command's
// database role may only read, so the command cannot write anything.
func TestADiffFindsATypoBeforeItIsInUse(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for _, id := range []string{"evt_1", "evt_2"} {
		clitest.Must(t, s.Args("send", "stripe", "--id", id)...)
		s.WaitDone(t, "stripe", id)
	}
	reader := "reads_" + s.Pool.Config().ConnConfig.Database
	_, err := s.Pool.Exec(t.Context(), `CREATE ROLE `+reader+` LOGIN PASSWORD 'secret' IN ROLE pg_read_all_data;
		GRANT EXECUTE ON FUNCTION hooklatch.delivery_days_ahead() TO `+reader)
	require.NoError(t, err)
	as, err := url.Parse(pgtest.URL(t, s.Pool))
	require.NoError(t, err)
	as.User = url.UserPassword(reader, "secret")
	diff := func(want int, path string, args ...string) string {
		t.Helper()
		c := clitest.Command{Env: map[string]string{"DATABASE_URL": as.String()}}
		require.Equal(t, want, c.Run(t.Context(), s.Args(append([]string{"routes", "diff", path}, args...)...)...), c.Stdout.String()+c.Stderr.String())
		return c.Stdout.String() + c.Stderr.String()
	}

	text := diff(cli.ExitOK, s.ConfigPath)
	require.Contains(t, text, "sources, destinations and routes are the same\n")
	require.Contains(t, text, "\n2 events compared, back to ")
	require.Contains(t, text, "the effects are the same\n")

	typo := edited(t, s, "key: body.data.object.id", "key: body.data.object.ident")
	text = diff(cli.ExitFailed, typo)
	require.Contains(t, text, "  route receipts: changed in key\n")
	require.Contains(t, text, "; 2 routed differently\n")
	require.Regexp(t, `\nCHANGE +EFFECTS +ROUTE +SOURCE +TYPE +DIFFERS IN\nerror +2 +receipts +stripe +invoice.paid +key, parked`, text)
	require.Contains(t, text, `+ parked: route "receipts": key: no such key: ident`)
	require.Contains(t, text, "- receipts -> mail, key in_")

	renamed := edited(t, s, "name: everything", "name: all")
	text = diff(cli.ExitOK, renamed)
	require.Contains(t, text, "  route everything: renamed to all\n")
	require.Regexp(t, `\nchanged +2 +all +stripe +invoice.paid +route, key\n`, text)

	moved := edited(t, s, "/effects", "/moved")
	text = diff(cli.ExitOK, moved, "--limit", "1")
	require.Contains(t, text, "  destination app: changed in http.url\n")
	require.Contains(t, text, "/moved\n")
	require.Contains(t, text, "compared 1, back to ")
	at := text[strings.Index(text, "hooklatch routes diff "):]
	require.Contains(t, at, moved)
	cursor := strings.Fields(at[strings.Index(at, "--cursor ")+len("--cursor "):])[0]
	require.Contains(t, diff(cli.ExitOK, moved, "--cursor", cursor), "1 event compared")

	var view struct {
		Changes []struct{ Section, Name string } `json:"settings"`
		whatif.Report
	}
	require.NoError(t, json.Unmarshal([]byte(diff(cli.ExitOK, moved, "--json", "--id", "evt_1", "--source", "stripe")), &view))
	require.Equal(t, 1, view.Events)
	require.Equal(t, 1, view.Effects[whatif.Changed])
	require.Equal(t, "stripe/evt_1", view.Groups[0].Examples[0].Event.String())
	require.Len(t, view.Changes, 1)
	require.Contains(t, diff(cli.ExitOK, typo, "--type", "charge.*"), "0 events compared")
}

// The command routes diff reports mistakes in its arguments and in the new file in the same way as
// other commands.
func TestADiffOfABadFileSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	missing := filepath.Join(t.TempDir(), "none.yaml")
	for _, test := range []struct {
		want int
		says string
		args []string
	}{
		{cli.ExitMisused, "usage: hooklatch routes diff NEW", nil},
		{cli.ExitMisused, "--limit 0: allowed are 1 to", []string{s.ConfigPath, "--limit", "0"}},
		{cli.ExitMisused, "--when: ", []string{s.ConfigPath, "--when", "body.("}},
		{cli.ExitMisused, "--since \"soon\"", []string{s.ConfigPath, "--since", "soon"}},
		{cli.ExitMisused, "not a cursor of a list", []string{s.ConfigPath, "--cursor", "x"}},
		{cli.ExitFailed, missing, []string{missing}},
		{cli.ExitFailed, "new.yaml:", []string{edited(t, s, "key: body.data.object.id", "key: body.(")}},
		{cli.ExitFailed, `did you mean "mail"`, []string{edited(t, s, "to: mail", "to: mial")}},
		{cli.ExitFailed, "is not valid YAML", []string{edited(t, s, "routes:", "routes: [\x00")}},
	} {
		var c clitest.Command
		require.Equal(t, test.want, c.Run(t.Context(), s.Args(append([]string{"routes", "diff"}, test.args...)...)...), test.says)
		require.Contains(t, c.Stderr.String(), test.says)
		require.Empty(t, c.Stdout.String())
	}
}

func TestADiffEndsIfTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	path := clitest.WriteConfig(t, pgtest.URL(t, pool))
	pgtest.Kill(pgtest.Server(t, pool))
	var c clitest.Command
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	require.Equal(t, cli.ExitFailed, c.Run(ctx, "routes", "diff", path, "--config", path))
	require.NotEmpty(t, c.Stderr.String())
}
