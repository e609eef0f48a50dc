package console

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/standby"
)

// fromStandby returns a page that reads from the standby while the standby is usable, and from the
// primary otherwise. No action may depend on what p shows, and p must write its response in its
// last step. A page that fails on the standby is read from the primary: the standby may lack a row
// that was just stored, and it cancels statements that conflict with replayed changes.
func fromStandby(p page) page {
	return func(r *request) error {
		if r.opts.Standby == nil {
			return p(r)
		}
		state := r.opts.Standby.Look(r.Context())
		if state.Usable() {
			err := r.onStandby(p, state)
			if _, busy := errors.AsType[*busyError](err); busy || err == nil || r.Context().Err() != nil {
				return err // the primary cannot help if this process is busy or the request was cancelled
			}
			state = standby.State{Refused: "the standby could not answer this request", Cause: err}
			if errors.Is(err, context.DeadlineExceeded) {
				r.opts.Standby.Refuse()
			}
		}
		r.opts.Logger.LogAttrs(r.Context(), slog.LevelDebug, "a page was read from the primary", slog.String(logkey.Path, r.URL.Path),
			slog.String(logkey.Reason, state.Refused), slog.Any(logkey.Err, state.Cause))
		r.say(state)
		return p(r)
	}
}

// onStandby reads a page from the standby. Its timeout leaves time to read the page from the
// primary.
func (r *request) onStandby(p page, state standby.State) error {
	ctx, cancel := context.WithTimeout(r.Context(), standby.Timeout)
	defer cancel()
	reads := *r
	reads.Request, reads.Console = r.WithContext(ctx), r.shown
	reads.say(state)
	return p(&reads)
}

// say names the server that was read, on the page and in a header of the response.
func (r *request) say(state standby.State) {
	r.read = state.String()
	r.w.Header().Set(api.ReadFrom, r.read)
}
