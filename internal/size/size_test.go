package size

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Bytes{
		"0": 0, "1": 1, "512B": 512, "900kB": 900_000, "900 kB": 900_000, "1KiB": 1024, "1MiB": 1 << 20, "25MB": 25_000_000, "2GiB": 2 << 30, "1GB": 1_000_000_000,
	} {
		var got Bytes
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, got, text)

		var again Bytes
		require.NoError(t, again.UnmarshalText([]byte(got.String())))
		require.Equal(t, got, again, text)
	}
	for _, text := range []string{"", "-1", "1.5MiB", "MiB", "1 megabyte", "9223372036854775807kB", "1e3", "0x10"} {
		var got Bytes
		require.Error(t, got.UnmarshalText([]byte(text)), text)
	}
}
