package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/desk"
)

// Every verb of the console is also a command, and the command's help has the same text.
func TestEveryVerbIsACommand(t *testing.T) {
	t.Parallel()
	root := NewRoot(&Process{Name: ProgramName})
	for _, v := range desk.Verbs() {
		if v.On == desk.Sources || v.Own { // these verbs have separate commands, such as hooklatch backfill
			continue
		}
		cmd, left, err := root.Find([]string{string(v.On), v.Name})
		require.NoError(t, err)
		require.Empty(t, left, "there is no command for %s %s", v.On, v.Name)
		require.Equal(t, v.Short, cmd.Short)
		long := strings.Join(strings.Fields(cmd.Long), " ")
		require.True(t, strings.HasPrefix(long, v.Means), "%s %s says: %s", v.On, v.Name, long)
		require.NotNil(t, cmd.Flags().Lookup("reason"), "%s %s is recorded without a reason", v.On, v.Name)
		if v.Many() {
			require.NotNil(t, cmd.Flags().Lookup("yes"), "%s %s takes no selection", v.On, v.Name)
		}
	}
}
