//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// leftOut lists files of the running server that a copy omits. emptied lists directories whose
// contents a copy omits, because every server creates them itself. The copy must get the WAL from
// elsewhere, as a standby does.
var (
	leftOut = []string{"postmaster.pid", "postmaster.opts", "backup_label", "tablespace_map", "standby.signal"}
	emptied = []string{
		"pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans",
	}
)

// takeBackup fills dir with a copy of a running server's cluster.
func takeBackup(ctx context.Context, backup Backup, dir string, own owner) error {
	if err := backup.Begin(ctx); err != nil {
		return fmt.Errorf("begin backup: %w", err)
	}
	if err := copyRunning(backup.Of.DataDir(), dir, own); err != nil {
		return fmt.Errorf("copy cluster: %w", err)
	}
	files, err := backup.End(ctx)
	if err != nil {
		return fmt.Errorf("end backup: %w", err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), own.take(path)); err != nil {
			return fmt.Errorf("complete backup: %w", err)
		}
	}
	return nil
}

// copyRunning copies a data directory while its server writes to it, and skips files that vanish
// meanwhile. A copied file may be half old and half new; recovery repairs it from the WAL.
func copyRunning(from, to string, own owner) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		top, below, _ := strings.Cut(rel, string(filepath.Separator))
		target := filepath.Join(to, rel)
		switch {
		case slices.Contains(leftOut, rel) || strings.HasPrefix(entry.Name(), "pgsql_tmp"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case top == "pg_replslot" && entry.IsDir() && below != "":
			return fs.SkipDir // a server does not start with the directory of a slot whose state is missing
		case slices.Contains(emptied, top) && below != "" && !entry.IsDir():
			return nil
		case entry.IsDir():
			if err := os.Mkdir(target, 0o700); err != nil {
				return err
			}
			return own.take(target)
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is no regular file", path)
		}
		if err := copyFile(path, target, 0o600, own); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
