package clitest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// WriteConfig writes the dev configuration for a database, on free ports.
func WriteConfig(t *testing.T, database string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dev.yaml")
	env := func(string) (string, bool) { return "", false }
	settings, err := cli.ReadDevSettings(path, env)
	require.NoError(t, err)
	settings.Database = secret.New(database)
	settings.Listen, settings.Admin = "127.0.0.1:0", "localhost:0"
	settings.SMTP, settings.Receiver = "127.0.0.1:9", "127.0.0.1:9" // the discard port, on which no server listens
	_, err = settings.Write(path, env)
	require.NoError(t, err)
	return path
}

// WriteServedConfig writes a configuration with which a gateway starts, although test databases run
// without fsync.
func WriteServedConfig(t *testing.T, database string) string {
	t.Helper()
	path := WriteConfig(t, database)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	served := strings.NewReplacer(
		"\ndatabase:\n", "\ndatabase:\n  allow: ["+config.AllowFsyncOff+"]\n",
		"\ngateway:\n", "\ngateway:\n  accept_timeout: 60s\n  read_header_timeout: 60s\n", // a busy machine must not make a delivery unavailable
	).Replace(string(text))
	require.Contains(t, served, "allow: [")
	require.Contains(t, served, "accept_timeout: 60s")
	require.NoError(t, os.WriteFile(path, []byte(served), 0o600))
	return path
}

// PortOf returns a port as text.
func PortOf(port uint16) string { return strconv.Itoa(int(port)) }

// WriteText writes a configuration file with the text, and returns its path.
func WriteText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
