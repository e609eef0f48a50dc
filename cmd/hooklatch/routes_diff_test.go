package main

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// edited returns the path of a copy of the system's configuration in which a text is replaced.
func edited(t *testing.T, s *system, old, instead string) string {
	t.Helper()
	text, err := os.ReadFile(s.configPath)
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
	s := newSystem(t, systemOptions{})
	for _, id := range []string{"evt_1", "evt_2"} {
		must(t, s.args("send", "stripe", "--id", id)...)
		s.waitDone(t, "stripe", id)
	}
	reader := "reads_" + s.pool.Config().ConnConfig.Database
	_, err := s.pool.Exec(t.Context(), `CREATE ROLE `+reader+` LOGIN PASSWORD 'secret' IN ROLE pg_read_all_data;
		GRANT EXECUTE ON FUNCTION hooklatch.delivery_days_ahead() TO `+reader)
	require.NoError(t, err)
	as, err := url.Parse(pgtest.URL(t, s.pool))
	require.NoError(t, err)
	as.User = url.UserPassword(reader, "secret")
	diff := func(want int, path string, args ...string) string {
		t.Helper()
		c := command{env: map[string]string{"DATABASE_URL": as.String()}}
		require.Equal(t, want, c.run(t.Context(), s.args(append([]string{"routes", "diff", path}, args...)...)...), c.stdout.String()+c.stderr.String())
		return c.stdout.String() + c.stderr.String()
	}

	text := diff(exitOK, s.configPath)
	require.Contains(t, text, "sources, destinations and routes are the same\n")
	require.Contains(t, text, "\n2 events compared, back to ")
	require.Contains(t, text, "the effects are the same\n")

	typo := edited(t, s, "key: body.data.object.id", "key: body.data.object.ident")
	text = diff(exitFailed, typo)
	require.Contains(t, text, "  route receipts: changed in key\n")
	require.Contains(t, text, "; 2 routed differently\n")
	require.Regexp(t, `\nCHANGE +EFFECTS +ROUTE +SOURCE +TYPE +DIFFERS IN\nerror +2 +receipts +stripe +invoice.paid +key, parked`, text)
	require.Contains(t, text, `+ parked: route "receipts": key: no such key: ident`)
	require.Contains(t, text, "- receipts -> mail, key in_")

	renamed := edited(t, s, "name: everything", "name: all")
	text = diff(exitOK, renamed)
	require.Contains(t, text, "  route everything: renamed to all\n")
	require.Regexp(t, `\nchanged +2 +all +stripe +invoice.paid +route, key\n`, text)

	moved := edited(t, s, "/effects", "/moved")
	text = diff(exitOK, moved, "--limit", "1")
	require.Contains(t, text, "  destination app: changed in http.url\n")
	require.Contains(t, text, "/moved\n")
	require.Contains(t, text, "compared 1, back to ")
	at := text[strings.Index(text, "hooklatch routes diff "):]
	require.Contains(t, at, moved)
	cursor := strings.Fields(at[strings.Index(at, "--cursor ")+len("--cursor "):])[0]
	require.Contains(t, diff(exitOK, moved, "--cursor", cursor), "1 event compared")

	var view struct {
		Changes []struct{ Section, Name string } `json:"settings"`
		whatif.Report
	}
	require.NoError(t, json.Unmarshal([]byte(diff(exitOK, moved, "--json", "--id", "evt_1", "--source", "stripe")), &view))
	require.Equal(t, 1, view.Events)
	require.Equal(t, 1, view.Effects[whatif.Changed])
	require.Equal(t, "stripe/evt_1", view.Groups[0].Examples[0].Event.String())
	require.Len(t, view.Changes, 1)
	require.Contains(t, diff(exitOK, typo, "--type", "charge.*"), "0 events compared")
}

// Mistakes in the command and in the new file are reported as by every other command.
func TestADiffOfABadFileSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	missing := filepath.Join(t.TempDir(), "none.yaml")
	for _, test := range []struct {
		want int
		says string
		args []string
	}{
		{exitMisused, "usage: hooklatch routes diff NEW", nil},
		{exitMisused, "--limit 0: allowed are 1 to", []string{s.configPath, "--limit", "0"}},
		{exitMisused, "--when: ", []string{s.configPath, "--when", "body.("}},
		{exitMisused, "--since \"soon\"", []string{s.configPath, "--since", "soon"}},
		{exitMisused, "not a cursor of a list", []string{s.configPath, "--cursor", "x"}},
		{exitFailed, missing, []string{missing}},
		{exitFailed, "new.yaml:", []string{edited(t, s, "key: body.data.object.id", "key: body.(")}},
		{exitFailed, `did you mean "mail"`, []string{edited(t, s, "to: mail", "to: mial")}},
		{exitFailed, "is not valid YAML", []string{edited(t, s, "routes:", "routes: [\x00")}},
	} {
		var c command
		require.Equal(t, test.want, c.run(t.Context(), s.args(append([]string{"routes", "diff"}, test.args...)...)...), test.says)
		require.Contains(t, c.stderr.String(), test.says)
		require.Empty(t, c.stdout.String())
	}
}

func TestADiffEndsIfTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	path := writeConfig(t, pgtest.URL(t, pool))
	pgtest.Kill(pgtest.Server(t, pool))
	var c command
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.Equal(t, exitFailed, c.run(ctx, "routes", "diff", path, "--config", path))
	require.NotEmpty(t, c.stderr.String())
}
