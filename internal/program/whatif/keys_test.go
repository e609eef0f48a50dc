package whatif

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneSharedEffectIsInTheSingular(t *testing.T) {
	t.Parallel()
	for together, want := range map[Together]string{
		{Added: 1, Gone: 1}: "together, 1 effect is added and 1 is gone",
		{Added: 2, Gone: 1}: "together, 2 effects are added and 1 is gone",
		{Added: 1, Gone: 2}: "together, 1 effect is added and 2 are gone",
		{Added: 2}:          "together, 2 effects are added and 0 are gone",
	} {
		r := &Report{Together: &together}
		require.Contains(t, r.SharedKeys(), want)
	}
}
