package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheKernelReportsTheMemoryOfTheMachine(t *testing.T) {
	t.Parallel()
	require.Greater(t, kernelMemory(), int64(64<<20))
}
