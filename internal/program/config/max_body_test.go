package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Only limits that the file changes are part of a configuration's identity. A new source or a new
// version therefore does not make a new configuration.
func TestOnlyLimitsOfTheFileAreNamed(t *testing.T) {
	t.Parallel()
	const sources = `
sources:
  shop: {provider: stripe, secrets: [the-first-secret]}
  large: {provider: stripe, secrets: [the-first-secret], max_body: 3MiB}
  usual: {provider: stripe, secrets: [the-first-secret], max_body: 1MiB}
  push: {provider: github, secrets: [the-first-secret]}
`
	for gateway, want := range map[string]map[string]int64{
		"":                            {"large": 3 << 20},
		"gateway: {max_body: 1MiB}\n": {"large": 3 << 20},
		"gateway: {max_body: 2MiB}\n": {"shop": 2 << 20, "large": 3 << 20},
	} {
		cfg, err := Parse("hooklatch.yaml", []byte("database: {url: postgres://localhost/x}\n"+gateway+sources), func(string) (string, bool) { return "", false })
		require.NoError(t, err)
		require.Equal(t, want, cfg.MaxBodies(), gateway)
	}
}
