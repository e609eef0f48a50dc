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
	"github.com/hooklatch/hooklatch/internal/program/loopback"
)

// readyTimeout limits Options.Ready.
const readyTimeout = 2 * time.Second

// Readiness is the response of /readyz. Only callers with a token, or all callers if no
// authentication is required, get Warnings, the full Reason and the Error in Reloads. Other callers
// on this machine get Reloads without Error: `hooklatch reload` may have a token that the process
// does not know yet, or none at all.
type Readiness struct {
	Ready    bool     `json:"ready"`
	Reason   string   `json:"reason,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Reloads  *Reloads `json:"reloads,omitempty"`
}

// Reloads describes the configuration reloads of a process.
type Reloads struct {
	// PID is the id of the process.
	PID int `json:"pid"`
	// Tried is the number of reloads, including those that failed.
	Tried int `json:"tried"`
	// Failed reports whether the last reload failed.
	Failed bool `json:"failed,omitempty"`
	// Error is the error of the last reload. It is empty if that reload succeeded, or if there was
	// no reload.
	Error string `json:"error,omitempty"`
}

// healthz calls Options.Alive. The result does not depend on the database, because a restart does
// not make an unavailable database available.
func (a *Admin) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	answer := "ok\n"
	if a.opts.Alive != nil && a.opts.Alive() != nil {
		answer = "the process needs a restart: see its log\n"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, answer)
}

// readyz calls Options.Ready. /readyz is public, so only callers with a token see the text of the
// error, and concurrent requests share one call.
func (a *Admin) readyz(w http.ResponseWriter, r *http.Request) {
	err := a.askReady(r.Context())
	a.readiness.report(a.opts.Logger, err)
	answer := Readiness{Ready: err == nil}
	known := a.opts.SignIn.Knows(r)
	if known && a.opts.Warnings != nil {
		answer.Warnings = a.opts.Warnings()
	}
	if a.opts.Reloads != nil && (known || loopback.From(r)) {
		reloads := a.opts.Reloads()
		reloads.Failed, reloads.Error = reloads.Error != "", redact(reloads.Error)
		if !known {
			reloads.Error = ""
		}
		answer.Reloads = &reloads
	}
	status := http.StatusOK
	if err != nil {
		status, answer.Reason = http.StatusServiceUnavailable, inShort(err)
		if known {
			answer.Reason = redact(err.Error())
		}
	}
	writeJSON(w, status, answer)
}

func (a *Admin) askReady(ctx context.Context) error {
	if a.opts.Ready == nil {
		return nil
	}
	answer := a.probe.DoChan("ready", func() (any, error) {
		// Other requests share the call, so it must not end with the first request's context.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		return nil, a.opts.Ready(ctx)
	})
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case result := <-answer:
		return result.Err
	case <-timeout.C: // Ready may ignore its context
		return context.DeadlineExceeded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inShort describes an error without quoting the text of another program.
func inShort(err error) string {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "the database cannot be reached"
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "the database reports SQLSTATE " + pg.Code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + readyTimeout.String()
	}
	return "not ready"
}

var credentials = regexp.MustCompile(`(?i)(://[^:/?#\s]*:)[^@\s]*@|(password=)('[^']*'|\S+)`)

// redact removes texts that look like a password in a database URL or DSN. pgx errors contain no
// passwords, but errors of other packages may.
func redact(text string) string {
	return credentials.ReplaceAllStringFunc(text, func(found string) string {
		parts := credentials.FindStringSubmatch(found)
		if parts[1] != "" {
			return parts[1] + "<secret>@"
		}
		return parts[2] + "<secret>"
	})
}

// ErrStarting is returned by Options.Ready until the process is ready for the first time. /readyz
// treats it like any other error, but does not log it: the process itself logs when it is ready.
var ErrStarting = errors.New("starting")

// readiness logs only changes between ready and not ready, because probes arrive every few seconds.
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
