//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"fmt"
	"os"
)

// Installation describes the Postgres programs that Start uses, for callers that start a server
// themselves.
type Installation struct {
	Bin string // directory with postgres and initdb
	// UID and GID identify the account that runs the server: this process's own account, or
	// another one if this process is root. Postgres refuses to run as root.
	UID, GID int
}

// Installed finds the programs as Start does, and may also fetch them with npm. If it finds none,
// its error lists the searched locations.
func Installed(ctx context.Context) (Installation, error) {
	own, err := serverOwner()
	if err != nil {
		return Installation{}, fmt.Errorf("find postgres: %w", err)
	}
	cache, err := cacheDir(own)
	if err != nil {
		return Installation{}, fmt.Errorf("find postgres: %w", err)
	}
	bin, err := systemSearch(own, cache, Options{}).locate(ctx, own, 0)
	if err != nil {
		return Installation{}, fmt.Errorf("find postgres: %w", err)
	}
	return Installation{Bin: bin.dir, UID: own.uid, GID: own.gid}, nil
}

// Take gives a file or directory to the account that runs the server.
func (i Installation) Take(path string) error { return os.Lchown(path, i.UID, i.GID) }
