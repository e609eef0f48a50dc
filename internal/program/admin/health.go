package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/plainjson"
)

// readyTimeout is how long Options.Ready may take.
const readyTimeout = 2 * time.Second

// ready is the answer of /readyz.
type ready struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
	// Warnings are for callers who are signed in.
	Warnings []string `json:"warnings,omitempty"`
}

// healthz says that the process is alive, whatever the database does: restarting
// the process because the database is away would only make it worse.
func (a *Admin) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// readyz asks Options.Ready. Anyone may call it, so only callers with the token
// are shown what is wrong, and calls that come together are one question.
func (a *Admin) readyz(w http.ResponseWriter, r *http.Request) {
	err := a.askReady(r.Context())
	a.readiness.report(a.opts.Logger, err)
	known := a.opts.SignIn.Knows(r)
	var warnings []string
	if known && a.opts.Warnings != nil {
		warnings = a.opts.Warnings()
	}
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, ready{Ready: true, Warnings: warnings})
	case known:
		writeJSON(w, http.StatusServiceUnavailable, ready{Reason: redact(err.Error()), Warnings: warnings})
	default:
		writeJSON(w, http.StatusServiceUnavailable, ready{Reason: inShort(err)})
	}
}

func (a *Admin) askReady(ctx context.Context) error {
	if a.opts.Ready == nil {
		return nil
	}
	answer := a.probe.DoChan("ready", func() (any, error) {
		// Shared with other callers: it must not end with the first one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		return nil, a.opts.Ready(ctx)
	})
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case result := <-answer:
		return result.Err
	case <-timeout.C: // of a Ready that does not heed its context
		return context.DeadlineExceeded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inShort says what is wrong without any text from elsewhere.
func inShort(err error) string {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "the database cannot be reached"
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "the database says SQLSTATE " + pg.Code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + readyTimeout.String()
	}
	return "not ready"
}

var credentials = regexp.MustCompile(`(?i)(://[^:/?#\s]*:)[^@\s]*@|(password=)('[^']*'|\S+)`)

// redact takes out what looks like a password in a database URL or DSN. The
// errors of pgx have none; this is for those of others.
func redact(text string) string {
	return credentials.ReplaceAllStringFunc(text, func(found string) string {
		parts := credentials.FindStringSubmatch(found)
		if parts[1] != "" {
			return parts[1] + "<secret>@"
		}
		return parts[2] + "<secret>"
	})
}

// ErrStarting is for a Ready that has not been ready yet. It is answered like
// any other error, and not logged: the process says by itself when it is ready.
var ErrStarting = errors.New("starting")

// readiness logs when the answer of /readyz changes: probes come every few
// seconds.
type readiness struct {
	mu       sync.Mutex
	notReady bool
}

func (s *readiness) report(logger *slog.Logger, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrStarting) || s.notReady == (err != nil) {
		return
	}
	s.notReady = err != nil
	if s.notReady {
		logger.Warn("not ready", slog.String(logkey.Err, redact(err.Error())))
		return
	}
	logger.Info("ready again")
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := plainjson.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
