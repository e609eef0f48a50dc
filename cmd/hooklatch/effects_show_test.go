package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestTheBodyOfAnEffectIsShownAsItIsSent(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	const sent = "{\"id\":\"evt_1\",  \"type\":\"ping\",\"odd\":\"\\u0000\"}\n"
	file := filepath.Join(t.TempDir(), "event.json")
	require.NoError(t, os.WriteFile(file, []byte(sent), 0o600))
	must(t, s.args("send", "stripe", file)...)
	s.waitDone(t, "stripe", "evt_1")

	var effects []ledger.Effect
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("effects", "list", "--event", "stripe/evt_1", "--json")...)), &effects))
	require.Len(t, effects, 1)
	require.Equal(t, sent, must(t, s.args("effects", "show", effects[0].IdempotencyKey, "--body")...))

	var c command
	require.Equal(t, exitMisused, c.run(t.Context(), s.args("effects", "show", "x", "--body", "--json")...))
	_, err := s.pool.Exec(t.Context(), `DELETE FROM hooklatch.deliveries`)
	require.NoError(t, err)
	c = command{}
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("effects", "show", effects[0].IdempotencyKey, "--body")...))
	require.Contains(t, c.stderr.String(), "is the body of the delivery of stripe/evt_1, which is no longer stored")
}
