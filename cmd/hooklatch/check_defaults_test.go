package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/doctor"
)

// Whoever relied on an old default is told the line that keeps it.
func TestCheckNamesTheLineThatKeepsAnOldDefault(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`database: {url: postgres://u@127.0.0.1:1/none}
destinations:
  new: {http: {url: http://localhost:3000/}}
  old: {http: {url: http://localhost:3000/}, retry_on: []}
  own: {http: {url: http://localhost:3000/}, retry_on: [404]}
  mail: {smtp: {host: localhost, from: a@b.example}}
`), 0o600))
	_, found := runCheck(t, "--config", path)
	require.Len(t, found.of("defaults"), 1, "what the file does not concern is not told")
	finding := found.of("defaults")[0]
	require.Equal(t, doctor.OK, finding.Level)
	require.Regexp(t, `^new: the answers of retry_on are tried again`, finding.Message)
	require.Contains(t, finding.Fix, "retry_on: []")
}

func TestCheckNamesTheLinesThatKeepOldLimits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`database: {url: postgres://u@127.0.0.1:1/none}
gateway: {max_in_flight: 300, max_unproven_per_address: 200}
sources:
  pay: {provider: paypal, secrets: [1JE4291016473214C]}
  paid: {provider: paypal, secrets: [1JE4291016473214C], replay_guard: hold, tolerance: 1d}
  desk: {provider: zendesk, secrets: [dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==]}
`), 0o600))
	_, found := runCheck(t, "--config", path)
	var told []string
	for _, finding := range found.of("defaults") {
		require.Equal(t, doctor.OK, finding.Level)
		about, _, _ := strings.Cut(finding.Message, ":")
		_, line, _ := strings.Cut(finding.Fix, ": ")
		told = append(told, about+" -> "+line)
	}
	require.ElementsMatch(t, []string{
		"pay -> replay_guard: off",
		"pay -> tolerance: off",
		"desk -> replay_guard: off",
		"gateway.max_in_flight_per_source -> max_in_flight_per_source: 300",
	}, told)
}
