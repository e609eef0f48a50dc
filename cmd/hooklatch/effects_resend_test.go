package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The body of a request is edited in the user's editor, or replaced with a file, and sent again
// under another key.
func TestEffectsResend(t *testing.T) {
	s := newSystem(t, systemOptions{})
	must(t, s.args("send", "stripe", "--id", "evt_1", "--type", "charge.updated")...)
	s.waitDone(t, "stripe", "evt_1")
	key := s.text(t, `SELECT idempotency_key FROM hooklatch.effects WHERE destination = 'app'`)
	old := must(t, s.args("effects", "show", key, "--body")...)

	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	editor := filepath.Join(t.TempDir(), "edit")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\nsed -i s/charge.updated/charge.edited/ \"$2\"\n"), 0o700))
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", editor+" --wait")
	out := must(t, s.args("effects", "resend", key, "--edit", "--header", "X-Repaired=yes", "--reason", "the type was wrong")...)
	require.Contains(t, out, key+" is resent to app as hl_")
	_, anew, _ := strings.Cut(out, s.printed("show it with: hooklatch effects show")+" ")
	anew = strings.TrimSpace(anew)
	require.Equal(t, strings.ReplaceAll(old, "charge.updated", "charge.edited"), must(t, s.args("effects", "show", anew, "--body")...))
	require.Contains(t, must(t, s.args("effects", "show", anew)...), "resent from     "+key)
	require.Contains(t, must(t, s.args("effects", "show", key)...), "resent as       "+anew)
	require.Equal(t, "yes", s.text(t, `SELECT request_headers -> 'X-Repaired' ->> 0 FROM hooklatch.effects WHERE idempotency_key = '`+anew+`'`))
	require.Equal(t, "the type was wrong", s.text(t, `SELECT reason FROM hooklatch.operator_log WHERE action = 'effect.resend'`))
	require.Eventually(t, func() bool {
		return s.counts(t, 1, `SELECT count(*) FROM hooklatch.effects WHERE idempotency_key = '`+anew+`' AND state = 'done'`)
	}, patience, tick)
	left, err := filepath.Glob(filepath.Join(temporary, "hooklatch-*", "body"))
	require.NoError(t, err)
	require.Empty(t, left, "the file with the body is gone")

	file := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(file, []byte("\x00\xff"), 0o600))
	var resent resentView
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("effects", "resend", key, "--body", file, "--reason", "again", "--json")...)), &resent))
	require.Equal(t, ledger.ActionResendEffect, resent.Action)
	require.Equal(t, "\x00\xff", must(t, s.args("effects", "show", resent.Key, "--body")...))

	t.Setenv("EDITOR", "true")
	for _, wrong := range []struct {
		want string
		exit int
		args []string
	}{
		{"state the reason with --reason", exitMisused, []string{key}},
		{"--edit and --body exclude each other", exitMisused, []string{key, "--edit", "--body", file, "--reason", "x"}},
		{"the body was not changed: nothing is sent", exitFailed, []string{key, "--edit", "--reason", "x"}},
		{"header Host is set by the destination", exitMisused, []string{key, "--header", "Host=evil.example", "--reason", "x"}},
		{"no effect has the key hl_none", exitFailed, []string{"hl_none", "--reason", "x"}},
		{"no such file", exitFailed, []string{key, "--body", filepath.Join(t.TempDir(), "none"), "--reason", "x"}},
	} {
		var c command
		require.Equal(t, wrong.exit, c.run(t.Context(), s.args(append([]string{"effects", "resend"}, wrong.args...)...)...), wrong.want)
		require.Contains(t, c.stderr.String(), wrong.want)
	}
	require.Equal(t, 2, s.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'effect.resend'`))
}
