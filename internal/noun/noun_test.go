package noun_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/noun"
)

func TestOneIsSingular(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 events", noun.Counted(0, "event"))
	require.Equal(t, "1 event", noun.Counted(int64(1), "event"))
	require.Equal(t, "2 events", noun.Counted(2, "event"))
}
