package planted

import (
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without the build tag nothing of the bugs is in a program: no function, no text.
func TestReleaseHasNoPlantedBug(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "hooklatch")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "../../cmd/hooklatch")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	file, err := elf.Open(binary)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	symbols, err := file.Symbols()
	require.NoError(t, err)
	neighbours := 0
	for _, symbol := range symbols {
		require.NotContains(t, symbol.Name, "hooklatch/outbox/planted.")
		if strings.Contains(symbol.Name, "hooklatch/outbox/commit.") {
			neighbours++
		}
	}
	require.NotZero(t, neighbours, "the symbols can be read")

	text, err := os.ReadFile(binary)
	require.NoError(t, err)
	whole := string(text)
	require.NotContains(t, whole, Environment)
	for _, bug := range Bugs() {
		require.NotContains(t, whole, string(bug))
	}
}

func TestExchangesFitTheirStatements(t *testing.T) {
	t.Parallel()
	folders := map[string]fs.FS{}
	for _, dir := range []string{"../query", "../ledger/query", "../inbox/query"} {
		folders[dir] = os.DirFS(dir)
	}
	for _, bug := range Bugs() {
		t.Run(string(bug), func(t *testing.T) {
			t.Parallel()
			for _, x := range exchangesOf(bug) {
				var changed []string
				for dir, folder := range folders {
					honest, err := fs.ReadFile(folder, x.file)
					if err != nil {
						continue
					}
					wrong, err := exchanged{FS: folder, exchanges: []exchange{x}}.ReadFile(x.file)
					require.NoError(t, err)
					require.NotEqual(t, string(honest), string(wrong))
					changed = append(changed, dir)
				}
				require.Len(t, changed, 1, "folders with %s", x.file)
			}
		})
	}
}

func TestExchangeThatDoesNotFitIsAnError(t *testing.T) {
	t.Parallel()
	files := exchanged{FS: os.DirFS("../query"), exchanges: []exchange{{"fence.sql", "no such text", ""}}}
	_, err := files.ReadFile("fence.sql")
	require.ErrorContains(t, err, "0 times")
	_, err = files.ReadFile("accept.sql")
	require.NoError(t, err)
}
