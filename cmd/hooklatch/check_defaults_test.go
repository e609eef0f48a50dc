package main

import (
	"os"
	"path/filepath"
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
	require.Len(t, found.of("defaults"), 1)
	finding := found.of("defaults")[0]
	require.Equal(t, doctor.OK, finding.Level)
	require.Regexp(t, `^new: the answers of retry_on are tried again`, finding.Message)
	require.Contains(t, finding.Fix, "retry_on: []")
}
