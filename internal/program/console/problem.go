package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// pageTimeout bounds what a page reads, and what an order takes.
const pageTimeout = 10 * time.Second

// page serves one; its error becomes a page that says what is wrong.
type page func(w http.ResponseWriter, r *http.Request) error

// problem is an error that a person is told: what, what it means, and what to do.
type problem struct {
	status        int
	heading, text string
	command       string // to be copied. Empty: there is none.
	cause         error  // for the log. Nil: there is nothing to look into.
}

func (p *problem) Error() string { return p.heading + ": " + p.text }

type problemPage struct {
	view

	Heading, Text, Command string
}

type requestIDKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// serve gives each request a time, and an id that its log and its page have in common.
func (c *Console) serve(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), requestIDKey{}, uuid.NewString()), pageTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		err := p(w, r)
		if err == nil {
			c.awaySince.Store(nil)
			return
		}
		told := c.tell(err)
		if told.cause != nil && !errors.Is(r.Context().Err(), context.Canceled) {
			c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a page of the console failed", slog.String(logkey.Path, r.URL.Path),
				slog.String(logkey.RequestID, requestID(ctx)), slog.Any(logkey.Err, told.cause))
		}
		if asksData(ctx) {
			_ = api.WriteProblem(w, api.Problem{Title: told.heading, Status: told.status, Detail: told.text, Command: told.command, RequestID: requestID(ctx)}) // it is plain text
			return
		}
		shown := problemPage{view: c.view(r, "", told.heading), Heading: told.heading, Text: told.text, Command: told.command}
		shown.Done = ""
		if err := c.render(w, told.status, "problem", shown); err != nil {
			http.Error(w, told.heading, http.StatusInternalServerError)
		}
	})
}

// tell says an error to a person.
func (c *Console) tell(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if denied, ok := errors.AsType[*desk.DeniedError](err); ok {
		return &problem{status: http.StatusForbidden, heading: denied.Heading, text: denied.Text}
	}
	if wrong, ok := errors.AsType[*invalid](err); ok {
		return &problem{status: http.StatusBadRequest, heading: wrong.Label + " cannot be read", text: fmt.Sprintf("It is %q: %s.", wrong.Value, wrong.Takes)}
	}
	if wrong, ok := errors.AsType[*ledger.StateError](err); ok {
		return &problem{status: http.StatusConflict, heading: "This cannot be done now", text: sentence(wrong.Error())}
	}
	if wrong, ok := errors.AsType[*runs.StateError](err); ok {
		return &problem{status: http.StatusConflict, heading: "This cannot be done now", text: sentence(wrong.Error())}
	}
	if errors.Is(err, inbox.ErrNotReplayable) {
		_, why, _ := strings.Cut(err.Error(), inbox.ErrNotReplayable.Error()+": ")
		return &problem{status: http.StatusConflict, heading: "This event is not replayed", text: sentence(why)}
	}
	if errors.Is(err, inbox.ErrNotHeld) {
		_, why, _ := strings.Cut(err.Error(), inbox.ErrNotHeld.Error()+": ")
		return &problem{status: http.StatusConflict, heading: "This event is not held", text: sentence(why)}
	}
	if errors.Is(err, commit.ErrUnavailable) || sqlstate.Away(err) {
		return c.away(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &problem{
			status: http.StatusServiceUnavailable, cause: err, heading: "The database takes too long",
			text: fmt.Sprintf("There was no answer within %s. Ask for less, or look at the server: hooklatch check says what slows it down.", pageTimeout), command: "hooklatch check",
		}
	}
	return &problem{
		status: http.StatusInternalServerError, cause: err, heading: "This page failed",
		text: "It is our fault. The log has the reason, under the request id below.",
	}
}

// away says since when the database does not answer, as this process saw it.
func (c *Console) away(err error) *problem {
	now := c.opts.Now()
	c.awaySince.CompareAndSwap(nil, &now)
	since := now
	if first := c.awaySince.Load(); first != nil {
		since = *first
	}
	return &problem{
		status: http.StatusServiceUnavailable, cause: err, heading: "The database does not answer",
		text: fmt.Sprintf("It has not since %s, as far as this page was asked. Gateways answer 503 meanwhile, and senders come back: nothing is lost.",
			since.UTC().Format("15:04:05 MST")),
		command: "hooklatch check",
	}
}

// sentence makes one of an error's text.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	letters := []rune(text)
	if 'a' <= letters[0] && letters[0] <= 'z' {
		letters[0] -= 'a' - 'A'
	}
	return string(letters) + "."
}

// nowhere is what stands where no page is.
func (c *Console) nowhere(http.ResponseWriter, *http.Request) error {
	return &problem{status: http.StatusNotFound, heading: "There is no such page", text: "The address leads nowhere. The pages are listed at the side."}
}
