package gateway

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSummaryIsWhatEncodingJSONMakesOfIt(t *testing.T) {
	t.Parallel()
	for _, s := range []summary{{Status: statusAccepted, Events: 12345, Duplicates: 7}, {Status: statusDuplicate, Events: 1, Duplicates: 1}, {Status: statusEmpty}} {
		want, err := json.Marshal(s)
		require.NoError(t, err)
		require.Equal(t, string(want), string(s.json()))
	}
}
