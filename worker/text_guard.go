package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/panicked"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// maxText bounds every text sent to River, in bytes.
const maxText = 2048

// textGuard is the outermost middleware of every job: only safe text leaves it. River stores errors
// as jsonb in batches, and repeats a failing batch forever. One NUL byte, quoted from a receiver's
// response, would stop all completions in the process.
type textGuard struct {
	river.MiddlewareDefaults

	logger *slog.Logger
	// running counts the jobs in progress, so that a stop waits for them. River itself does not wait
	// for a job that was rescued and fetched again by the same process.
	running *underway
}

var _ rivertype.WorkerMiddleware = (*textGuard)(nil)

// Work implements rivertype.WorkerMiddleware.
func (g *textGuard) Work(ctx context.Context, job *rivertype.JobRow, doInner func(context.Context) error) (err error) {
	defer g.running.begin(job.Kind)()
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
			g.logger.ErrorContext(ctx, "job panicked",
				slog.Int64(logkey.JobID, job.ID),
				slog.String(logkey.Queue, job.Queue),
				slog.String(logkey.Err, oneLine(err.Error())),
				slog.String(logkey.Stack, string(debug.Stack())))
		}
		err = guardError(err)
	}()
	return doInner(ctx)
}

// guardedError has a safe text. River stores only the outermost error's text, and still finds a
// wrapped cancel, snooze or cancelled context.
type guardedError struct {
	text  string
	cause error
}

func (e *guardedError) Error() string { return e.text }
func (e *guardedError) Unwrap() error { return e.cause }

func guardError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if _, cancelled := errors.AsType[*river.JobCancelError](err); cancelled {
		// The job's state already shows the cancel; the text begins with the reason.
		text = strings.TrimPrefix(text, "JobCancelError: ")
	}
	return &guardedError{text: oneLine(text), cause: err}
}

// panicError is a panic in a handler, a destination or a job.
type panicError struct{ text string }

// newPanicError returns the error of a recovered panic with value v. Call it in the deferred
// function that recovers.
func newPanicError(v any) *panicError { return &panicError{text: panicked.Text(v)} }

func (e *panicError) Error() string { return e.text }

// oneLine returns s as one line of safe text for River, logs and spans, at most maxText bytes long.
func oneLine(s string) string { return safetext.Line(s, maxText) }
