package programs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// asParent is the environment variable that makes the test binary start a child and wait to be
// killed. Its value is the path of the child's log.
const asParent = "PROGRAMS_AS_PARENT"

func TestMain(m *testing.M) {
	if file := os.Getenv(asParent); file != "" {
		beParent(file)
		return
	}
	os.Exit(pgtest.Main(m))
}

// root is the relative path of the repository.
const root = "../../.."

// notes holds the history's records about processes.
type notes struct {
	*history.Writer

	mu   sync.Mutex
	seen []string
}

func newNotes() *notes {
	n := &notes{}
	n.Writer = history.NewWriter(new(bytes.Buffer), func(r history.Record) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.seen = append(n.seen, fmt.Sprintf("%s started=%t ordered=%t %s", r.Process.Name, r.Process.Started, r.Process.Ordered, r.Text))
	})
	return n
}

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen
}

// newShell returns a program that runs a script.
func newShell(t *testing.T, script string, change func(*programs.Options)) (*programs.Program, *notes) {
	t.Helper()
	notes := newNotes()
	opts := programs.Options{
		Name: "shell", Build: "sh", Binary: "/bin/sh", Args: []string{"-c", script},
		Log: filepath.Join(t.TempDir(), "shell.log"), History: notes.Writer,
	}
	if change != nil {
		change(&opts)
	}
	p, err := programs.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Kill()) })
	return p, notes
}
