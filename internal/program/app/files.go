package app

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// DefaultFilesEvery is the interval at which secret and certificate files are checked. A shorter
// interval would not help: a Vault agent or Kubernetes takes longer to replace the files.
const DefaultFilesEvery = 10 * time.Second

// watchFiles puts changed secret and certificate files into effect, until ctx is done. It does not
// read the configuration file again, because that file may have been edited without a reload.
func (a *App) watchFiles(ctx context.Context) {
	tick := time.NewTicker(a.opts.FilesEvery)
	defer tick.Stop()
	var seen []stamp // nil, because the files may have changed since they were read
	var failing string
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := stampsOf(a.config.Load().Files())
		if len(now) == 0 || slices.EqualFunc(now, seen, stamp.equal) {
			continue
		}
		if err := a.rereadFiles(ctx); err != nil {
			if failing != err.Error() {
				failing = err.Error()
				a.opts.Logger.LogAttrs(ctx, slog.LevelError, "changed files cannot be used: the current secrets and certificates stay in effect", slog.Any(logkey.Err, err))
			}
			continue // the files may still be incomplete
		}
		seen, failing = now, ""
	}
}

// rereadFiles reads all files again, and puts the changes into effect. If one file cannot be used,
// no change takes effect. rereadFiles logs the changes that need a restart.
func (a *App) rereadFiles(ctx context.Context) error {
	var old, next *config.Config
	var pairs map[string]KeyPair
	unlock, err := a.lockAfter(func(current *config.Config) (err error) {
		old = current
		if next, err = old.Again(); err == nil {
			pairs, err = KeyPairs(next)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer unlock()
	// Flags may have overridden the addresses and the database.
	next = a.opts.overridden(next)
	next.Gateway.Listen, next.Admin.Listen, next.Admin.ConsoleURL = old.Gateway.Listen, old.Admin.Listen, old.Admin.ConsoleURL
	changed := old.ChangedFiles(next)
	if !a.opts.DatabaseURL.IsZero() { // the URLs in the files are not used
		changed = slices.DeleteFunc(changed, func(path string) bool { return strings.HasPrefix(path, "database.") })
	}
	changed = append(changed, a.certificates.changed(pairs)...)
	if len(changed) == 0 {
		return nil
	}
	if err := a.put(ctx, next, pairs); err != nil {
		return err
	}
	kept := a.config.Load().Whole()
	var used, waiting []string
	for _, path := range changed {
		if kept.SameAt(next, path) {
			used = append(used, path)
		} else {
			waiting = append(waiting, path)
		}
	}
	if len(used) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "changed files of secrets and certificates are in effect", slog.String(logkey.Path, strings.Join(used, ", ")))
	}
	if len(waiting) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "changed files of secrets take effect after a restart", slog.String(logkey.Path, strings.Join(waiting, ", ")))
	}
	return nil
}

// lockAfter reads files and then locks a.reload. It reads without the lock, because a mount may
// hang forever, and announcements need the lock. If another configuration takes effect during read,
// lockAfter calls read again: the files must be those of the current configuration.
func (a *App) lockAfter(read func(current *config.Config) error) (unlock func(), err error) {
	for {
		current := a.config.Load()
		if err := read(current.Whole()); err != nil {
			return nil, err
		}
		a.reload.Lock()
		if a.config.Load() == current {
			return a.reload.Unlock, nil
		}
		a.reload.Unlock()
	}
}

// changed returns the configuration paths of the listeners whose certificates in pairs differ from
// the current ones.
func (c certificates) changed(pairs map[string]KeyPair) []string {
	var paths []string
	for path, one := range c {
		if next, ok := pairs[path]; ok && !one.presents(next) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// stamp changes when a file is replaced or written.
type stamp struct {
	name string
	info fs.FileInfo // nil if the file does not exist
}

// stampsOf returns the stamps of files. It follows symbolic links: Kubernetes replaces the links,
// not the files.
func stampsOf(files []string) []stamp {
	stamps := make([]stamp, 0, len(files))
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			info = nil
		}
		stamps = append(stamps, stamp{name, info})
	}
	return stamps
}

func (s stamp) equal(other stamp) bool {
	if s.name != other.name || s.info == nil || other.info == nil {
		return s.name == other.name && s.info == nil && other.info == nil
	}
	return os.SameFile(s.info, other.info) && s.info.ModTime().Equal(other.info.ModTime()) && s.info.Size() == other.info.Size()
}
