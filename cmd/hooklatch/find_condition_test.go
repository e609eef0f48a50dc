package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The search of a source prints a condition that selects the same events.
func TestFindPrintsTheConditionOfItsSearch(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, pgtest.URL(t, pgtest.New(t)))
	var c command
	require.Zero(t, c.run(t.Context(), "find", "jane@example.com", "--source", "stripe", "--config", path))
	require.Regexp(t, `(?m)^  hooklatch events list .*--source stripe`, c.stderr.String())
}
