package main_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A command fails if DATABASE_URL and database.direct_url lead to different databases.
func TestCommandsRefuseADirectURLOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	here, other := pgtest.URL(t, pgtest.New(t)), pgtest.URL(t, pgtest.New(t))
	for direct, want := range map[string]string{
		here + "&application_name=direct": "",
		other:                             "DATABASE_URL and database.direct_url lead to different databases: ",
	} {
		file := clitest.WriteText(t, fmt.Sprintf("database: {url: \"${DATABASE_URL}\", direct_url: %q, allow: [fsync_off]}\n", direct))
		for _, args := range [][]string{{"migrate", "status"}, {"retention", "run"}} {
			c := clitest.Command{Env: map[string]string{"DATABASE_URL": here}}
			code := c.Run(t.Context(), append(args, "--config", file)...)
			require.Equal(t, want == "", code == 0, "%v: %s", args, c.Stderr.String())
			require.Contains(t, c.Stderr.String(), want)
		}
	}
}
