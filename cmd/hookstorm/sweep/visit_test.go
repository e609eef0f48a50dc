package sweep

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var transactionOfAMove = regexp.MustCompile(`\.DB\.Do\(ctx, "(\w+)"`)

// Only the mover can visit the failpoints of a move's transactions. If movingSources omitted a
// transaction, the mover could stop before its visits, and the sweep would miss them.
func TestTheMoverGetsEveryTransactionOfAMove(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../internal/moves/*.go")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range transactionOfAMove.FindAllSubmatch(text, -1) {
			found++
			require.True(t, movingSources(Visit{Place: string(match[1]) + ".before_commit"}), "%s: %s", file, match[1])
		}
	}
	require.GreaterOrEqual(t, found, 8)
}
