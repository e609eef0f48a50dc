package operators

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestTheBodyOfAnEffectIsShownAsItIsSent(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	const sent = "{\"id\":\"evt_1\",  \"type\":\"ping\",\"odd\":\"\\u0000\"}\n"
	file := filepath.Join(t.TempDir(), "event.json")
	require.NoError(t, os.WriteFile(file, []byte(sent), 0o600))
	clitest.Must(t, s.Args("send", "stripe", file)...)
	s.WaitDone(t, "stripe", "evt_1")

	var effects []ledger.Effect
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "list", "--event", "stripe/evt_1", "--json")...)), &effects))
	require.Len(t, effects, 1)
	require.Equal(t, sent, clitest.Must(t, s.Args("effects", "show", effects[0].IdempotencyKey, "--body")...))

	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args("effects", "show", "x", "--body", "--json")...))
	_, err := s.Pool.Exec(t.Context(), `DELETE FROM hooklatch.deliveries`)
	require.NoError(t, err)
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("effects", "show", effects[0].IdempotencyKey, "--body")...))
	require.Contains(t, c.Stderr.String(), "is the body of the delivery of stripe/evt_1, which is no longer stored")
}
