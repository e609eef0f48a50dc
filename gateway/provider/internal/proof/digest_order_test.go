package proof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEqualKeysCountInOrder where a hash of the content is the id: the last of
// them is what they say.
func TestEqualKeysCountInOrder(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, digestOf(`{"a":1,"a":2}`), digestOf(`{"a":2,"a":1}`))
	require.NotEqual(t, digestOf(`{"a":1,"a":1}`), digestOf(`{"a":1}`))
	require.Equal(t, digestOf(`{"a":1,"b":0,"a":2}`), digestOf(`{"b":0,"a":1, "a":2}`))
}
