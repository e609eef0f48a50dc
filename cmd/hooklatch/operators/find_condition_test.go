package operators

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A search of one source prints the command that lists the same events.
func TestFindPrintsTheConditionOfItsSearch(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, pgtest.URL(t, pgtest.New(t)))
	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), "find", "jane@example.com", "--source", "stripe", "--config", path))
	require.Regexp(t, `(?m)^  hooklatch events list .*--source stripe`, c.Stderr.String())
}
