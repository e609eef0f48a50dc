package column

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeadersAreJSONThatPostgresTakes(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string]map[string][]string{
		"none":           {},
		"several values": {"Accept": {"a", "b"}, "X-Empty": {""}, "X-None": {}, "": {"no name"}},
		"special":        {"X-Quote\"": {`a"b\c`, "<&>", "tab\t", "\x7f", "é", "\u2028"}},
	} {
		text, err := Headers(headers)
		require.NoError(t, err, name)
		var got map[string][]string
		require.NoError(t, json.Unmarshal(text, &got), name)
		require.Equal(t, headers, got, name)
	}
	text, err := Headers(map[string][]string{"B": {"\x00", "\xff"}, "A": {"x"}})
	require.NoError(t, err)
	require.Equal(t, `{"A":["x"],"B":["`+"\ufffd"+`","`+"\ufffd"+`"]}`, string(text), "in the order of their names")
	require.NotContains(t, string(text), "\\u0000")
}
