package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const patience = 3 * time.Minute

// syncBuffer supports concurrent writes and reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// file is a configuration file that a test changes while an App runs.
type file struct{ path, database, acceptTimeout string }

func newFile(t *testing.T, database string) *file {
	t.Helper()
	return &file{path: filepath.Join(t.TempDir(), "hooklatch.yaml"), database: database, acceptTimeout: "60s"}
}

// write writes the file: the database, the listeners, and then rest. The timeouts of the gateway
// are long, so that no delivery is refused on a busy machine.
func (f *file) write(t *testing.T, rest string) {
	t.Helper()
	text := "database: {url: \"" + f.database + "\", allow: [fsync_off]}\ngateway: {listen: \"127.0.0.1:0\", accept_timeout: " + f.acceptTimeout + ", read_header_timeout: 60s}\nadmin: {listen: \"localhost:0\"}\n" + rest
	require.NoError(t, os.WriteFile(f.path, []byte(text), 0o600))
}

func (f *file) load() (*config.Config, error) { return f.loadWith(nil) }

// loadWith reads the configuration with environment variables.
func (f *file) loadWith(variables map[string]string) (*config.Config, error) {
	return config.Load(f.path, func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	})
}
