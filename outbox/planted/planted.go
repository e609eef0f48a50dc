//go:build planted

package planted

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// chosen is the bug of this process. A program with a bug that does not exist
// would prove nothing, so it does not run.
var chosen = sync.OnceValue(func() Bug {
	bug := Bug(os.Getenv(Environment))
	if bug != "" && !slices.Contains(Bugs(), bug) {
		panic(fmt.Sprintf("%s=%s: there is no such bug, there are %q", Environment, bug, Bugs()))
	}
	return bug
})

// Is tells whether the process has the bug.
func Is(bug Bug) bool { return chosen() == bug }

// Statements returns files with the statements of the chosen bug in place of the
// honest ones.
func Statements(files fs.FS) fs.FS {
	exchanges := exchangesOf(chosen())
	if len(exchanges) == 0 {
		return files
	}
	return exchanged{FS: files, exchanges: exchanges}
}
