package checks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Processes accept deliveries through database.url, so check connects to it although commands use
// direct_url.
func TestCheckConnectsToTheURLThatDirectURLBypasses(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t, pgtest.New(t))
	for url, want := range map[string]string{
		direct + "&application_name=pooled":          "",
		"postgres://nobody@127.0.0.1:1/hooklatch":    "database.url cannot be used: ",
		pgtest.URL(t, pgtest.New(t)):                 `" of the server that started at `,
		pgtest.URL(t, pgtest.New(t, pgtest.Empty())): "database.url cannot be used: ",
	} {
		code, found := clitest.RunCheck(t, "--config", clitest.WriteText(t, fmt.Sprintf("database: {url: %q, direct_url: %q, allow: [fsync_off]}\n", url, direct)))
		about := found.Of("url")
		require.Len(t, about, 1, "%+v", found.Findings)
		if want == "" {
			require.Zero(t, code, "%+v", found.Findings)
			require.Equal(t, doctor.OK, about[0].Level, about[0].Message)
			continue
		}
		require.Equal(t, cli.ExitFailed, code)
		require.Equal(t, doctor.Problem, about[0].Level)
		require.Contains(t, about[0].Message, want)
	}
}
