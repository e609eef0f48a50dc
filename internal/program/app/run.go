package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

// Run starts an App, reloads it at each reload request, and stops it when ctx is done or the App
// cannot continue. The function ready is called once all parts run; it may be nil.
func Run(ctx context.Context, opts Options, reloads <-chan struct{}, ready func(*App)) error {
	a, err := New(ctx, opts)
	if err != nil {
		return err
	}
	err = a.Start(ctx)
	if err == nil {
		err = a.serve(ctx, reloads, ready)
	}
	stopping := time.Now()
	err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
	attrs := []slog.Attr{slog.Float64(logkey.Duration, time.Since(stopping).Seconds())}
	if err != nil {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "stopped after an error", attrs...) // the caller gets the error
		return err
	}
	a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "stopped", attrs...)
	return nil
}

func (a *App) serve(ctx context.Context, reloads <-chan struct{}, ready func(*App)) error {
	prepared := a.prepared
	go a.followReloads(ctx, reloads)
	for {
		select {
		case <-prepared:
			prepared = nil
			a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "ready")
			a.tell("", "ready")
			if ready != nil {
				ready(a)
			}
		case err := <-a.failed:
			return err
		case <-ctx.Done():
			a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "draining; a second signal exits at once")
			return nil
		}
	}
}
