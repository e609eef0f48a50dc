package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A search of one source prints the command that lists the same events.
func TestFindPrintsTheConditionOfItsSearch(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, pgtest.URL(t, pgtest.New(t)))
	var c command
	require.Zero(t, c.run(t.Context(), "find", "jane@example.com", "--source", "stripe", "--config", path))
	require.Regexp(t, `(?m)^  hooklatch events list .*--source stripe`, c.stderr.String())
}
