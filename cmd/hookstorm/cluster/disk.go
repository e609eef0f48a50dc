package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// ballastName is the name of the file that fills the disk of a server.
const ballastName = "ballast"

// smallDisk mounts a separate disk at dir, the directory of the next server, if
// Options.SmallDisk is set.
func (c *Cluster) smallDisk(dir string) error {
	if c.opts.SmallDisk == 0 {
		return nil
	}
	//nolint:gosec // The server's account must reach dir.
	if err := errors.Join(os.MkdirAll(dir, 0o755), mountSmall(dir, c.opts.SmallDisk)); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	return nil
}

// FillDisk fills the primary's disk, and returns how many bytes it has written. After that the
// primary's writes fail, or the primary crashes if the WAL runs out of space. Without
// Options.SmallDisk, FillDisk returns an error.
func (c *Cluster) FillDisk() (written int64, err error) {
	if c.opts.SmallDisk == 0 {
		return 0, errors.New("fill disk: the servers have no disks of their own")
	}
	file, err := os.Create(filepath.Join(rootOf(c.server()), ballastName))
	if err != nil {
		return 0, fmt.Errorf("fill disk: %w", err)
	}
	defer file.Close()
	for chunk := make([]byte, 1<<20); len(chunk) >= 1<<10; chunk = chunk[:len(chunk)/2] {
		for {
			n, err := file.Write(chunk)
			written += int64(n)
			if err != nil && !isFull(err) {
				return written, fmt.Errorf("fill disk: %w", err)
			}
			if err != nil || written > c.opts.SmallDisk {
				break
			}
		}
	}
	return written, nil
}

// FreeDisk frees the space that FillDisk took, and returns when the primary can write again. If the
// full disk crashed the primary, FreeDisk restarts it and returns true. After Stop, FreeDisk does
// nothing.
func (c *Cluster) FreeDisk(ctx context.Context) (crashed bool, err error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if c.stop {
		return false, nil
	}
	// A primary that took over meanwhile has its own disk, without this file.
	primary := c.server()
	if err := os.Remove(filepath.Join(rootOf(primary), ballastName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("free disk: %w", err)
	}
	for range (retry.Pauses{First: 50 * time.Millisecond}).Until(ctx) {
		if primary.PID() == 0 {
			if err := primary.Restart(ctx); err != nil {
				return true, fmt.Errorf("free disk: %w", err)
			}
			return true, nil
		}
		if err = writes(ctx, primary); err == nil {
			return false, nil
		}
	}
	return false, fmt.Errorf("free disk: %w", err)
}

// writes returns nil if the server can write WAL. The server's PID does not show this, because a
// server that is about to crash still has a process for a moment.
func writes(ctx context.Context, server *embedded.Server) error {
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'hookstorm', '')")
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// rootOf returns the directory of a server, which contains its data directory.
func rootOf(server *embedded.Server) string { return filepath.Dir(server.DataDir()) }
