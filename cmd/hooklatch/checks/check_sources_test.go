package checks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

func TestCheckRefusesRetentionBelowTheFloor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte("retention: {payloads: 1d}\nsources:\n  stripe: {provider: stripe, secrets: [the-first-secret], retention: {dedup: 7d}}\n"), 0o600))
	code, found := clitest.RunCheck(t, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	require.Equal(t, []doctor.Finding{{
		Level: doctor.Problem, Check: "configuration", Fix: "correct this line",
		Message: path + ":3: sources.stripe.retention.dedup: 7d is below the floor of 30d of provider stripe (2 x 3d of retries, 30d of manual resends)",
	}}, found.Of("configuration"))
}
