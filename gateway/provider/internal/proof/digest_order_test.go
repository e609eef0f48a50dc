package proof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEqualKeysCountInOrder covers ids that are a hash of the content: the last of several
// equal keys is the value.
func TestEqualKeysCountInOrder(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, digestOf(`{"a":1,"a":2}`), digestOf(`{"a":2,"a":1}`))
	require.NotEqual(t, digestOf(`{"a":1,"a":1}`), digestOf(`{"a":1}`))
	require.Equal(t, digestOf(`{"a":1,"b":0,"a":2}`), digestOf(`{"b":0,"a":1, "a":2}`))
}
