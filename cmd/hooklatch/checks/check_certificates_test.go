package checks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app/selfsigned"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

// certify writes a certificate and its key to dir.
func certify(t *testing.T, dir string, from, until time.Time) (cert, key string) {
	t.Helper()
	cert, key, err := selfsigned.Write(dir, from, until)
	require.NoError(t, err)
	return cert, key
}

func TestCheckRefusesACertificateThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	certify(t, dir, time.Now(), time.Now().Add(time.Hour))
	_, key := certify(t, other, time.Now(), time.Now().Add(time.Hour))
	path := filepath.Join(dir, "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "admin: {tls: {cert_file: tls.crt, key_file: %q}}\n", key), 0o600))
	code, found := clitest.RunCheck(t, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	problems := found.Of("configuration")
	require.Len(t, problems, 1)
	require.Equal(t, path+":1: admin.tls: cannot be used: tls: private key does not match public key", problems[0].Message)
}
