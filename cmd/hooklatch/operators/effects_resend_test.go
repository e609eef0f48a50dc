package operators

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The body of a request is edited in the user's editor, or replaced with a file, and sent again
// under another key.
func TestEffectsResend(t *testing.T) {
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1", "--type", "charge.updated")...)
	s.WaitDone(t, "stripe", "evt_1")
	key := s.Text(t, `SELECT idempotency_key FROM hooklatch.effects WHERE destination = 'app'`)
	old := clitest.Must(t, s.Args("effects", "show", key, "--body")...)

	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	editor := filepath.Join(t.TempDir(), "edit")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\nsed -i s/charge.updated/charge.edited/ \"$2\"\n"), 0o700))
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", editor+" --wait")
	out := clitest.Must(t, s.Args("effects", "resend", key, "--edit", "--header", "X-Repaired=yes", "--reason", "the type was wrong")...)
	require.Contains(t, out, key+" is resent to app as hl_")
	_, anew, _ := strings.Cut(out, s.Printed("show it with: hooklatch effects show")+" ")
	anew = strings.TrimSpace(anew)
	require.Equal(t, strings.ReplaceAll(old, "charge.updated", "charge.edited"), clitest.Must(t, s.Args("effects", "show", anew, "--body")...))
	require.Contains(t, clitest.Must(t, s.Args("effects", "show", anew)...), "resent from     "+key)
	require.Contains(t, clitest.Must(t, s.Args("effects", "show", key)...), "resent as       "+anew)
	require.Equal(t, "yes", s.Text(t, `SELECT request_headers -> 'X-Repaired' ->> 0 FROM hooklatch.effects WHERE idempotency_key = '`+anew+`'`))
	require.Equal(t, "the type was wrong", s.Text(t, `SELECT reason FROM hooklatch.operator_log WHERE action = 'effect.resend'`))
	require.Eventually(t, func() bool {
		return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.effects WHERE idempotency_key = '`+anew+`' AND state = 'done'`)
	}, clitest.Patience, clitest.Tick)
	left, err := filepath.Glob(filepath.Join(temporary, "hooklatch-*", "body"))
	require.NoError(t, err)
	require.Empty(t, left, "the file with the body is gone")

	file := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(file, []byte("\x00\xff"), 0o600))
	var resent cli.ResentView
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "resend", key, "--body", file, "--reason", "again", "--json")...)), &resent))
	require.Equal(t, ledger.ActionResendEffect, resent.Action)
	require.Equal(t, "\x00\xff", clitest.Must(t, s.Args("effects", "show", resent.Key, "--body")...))

	t.Setenv("EDITOR", "true")
	for _, wrong := range []struct {
		want string
		exit int
		args []string
	}{
		{"state the reason with --reason", cli.ExitMisused, []string{key}},
		{"--edit and --body exclude each other", cli.ExitMisused, []string{key, "--edit", "--body", file, "--reason", "x"}},
		{"the body was not changed: nothing is sent", cli.ExitFailed, []string{key, "--edit", "--reason", "x"}},
		{"header Host is set by the destination", cli.ExitMisused, []string{key, "--header", "Host=evil.example", "--reason", "x"}},
		{"no effect has the key hl_none", cli.ExitFailed, []string{"hl_none", "--reason", "x"}},
		{"no such file", cli.ExitFailed, []string{key, "--body", filepath.Join(t.TempDir(), "none"), "--reason", "x"}},
	} {
		var c clitest.Command
		require.Equal(t, wrong.exit, c.Run(t.Context(), s.Args(append([]string{"effects", "resend"}, wrong.args...)...)...), wrong.want)
		require.Contains(t, c.Stderr.String(), wrong.want)
	}
	require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'effect.resend'`))
}
