package app

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	// DefaultStillFor is the time that the configuration file must be unchanged before Run reloads
	// it. An editor or a copy writes the file in several steps.
	DefaultStillFor = time.Second
	// looksWhileStill is the number of times that the file is checked during StillFor.
	looksWhileStill = 5
	// stillWithin is the time, in multiples of StillFor, that a reload waits for an unchanged file
	// before it logs a warning and continues to wait.
	stillWithin = 15
	// followFor is the time, in multiples of StillFor, that the file is watched after a reload is
	// requested. A change in that time is reloaded without a request, and the time begins again.
	followFor = 60
)

// sight is the state of the configuration file at one moment.
type sight struct {
	stamp stamp
	text  []byte // nil if the file cannot be read or is not a regular file
}

func (a *App) look() sight {
	path := a.config.Load().Path()
	s := sight{stamp: stampsOf([]string{path})[0]}
	if s.stamp.info != nil && s.stamp.info.Mode().IsRegular() { // a pipe could be read only once
		s.text, _ = os.ReadFile(path) // Load reports read errors
	}
	return s
}

func (s sight) equal(other sight) bool {
	return s.stamp.equal(other.stamp) && bytes.Equal(s.text, other.text)
}

// followReloads reloads the configuration at each request, once the file has been unchanged for
// StillFor. If the file changes again soon after the reload, it was probably incomplete, and
// followReloads reloads it without a request. followReloads returns when ctx is done.
func (a *App) followReloads(ctx context.Context, requests <-chan struct{}) {
	tick := time.NewTicker(a.opts.StillFor / looksWhileStill)
	defer tick.Stop()
	var seen, read sight
	var stillSince, requested time.Time
	var pending, told bool
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case <-requests:
			now = time.Now()
			seen, stillSince, requested, pending, told = a.look(), now, now, true, false
			continue
		case now = <-tick.C:
		}
		if requested.IsZero() {
			continue
		}
		latest := a.look()
		switch {
		case !latest.equal(seen):
			seen, stillSince = latest, now
			if !pending && !latest.equal(read) {
				a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the configuration changed after the reload and is read again", slog.String(logkey.Path, a.config.Load().Path()))
				pending, told, requested = true, false, now
			}
		case pending && now.Sub(stillSince) >= a.opts.StillFor:
			pending, read = false, latest
			tried := *a.reloads.Load()
			tried.Tried++
			tried.Error = ""
			if err := a.tellReload(func() error { return a.Reload(ctx) }); err != nil {
				tried.Error = err.Error()
				a.opts.Logger.LogAttrs(ctx, slog.LevelError, "the current configuration stays in effect", slog.Any(logkey.Err, err))
			}
			a.reloads.Store(&tried)
		case !pending && now.Sub(requested) >= followFor*a.opts.StillFor:
			requested = time.Time{}
		}
		if pending && !told && now.Sub(requested) >= stillWithin*a.opts.StillFor {
			told = true
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the configuration is still being written: it is read once it no longer changes", slog.String(logkey.Path, a.config.Load().Path()))
		}
	}
}
