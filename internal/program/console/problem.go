package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// problem is an error for the user: what failed, its meaning, and what to do.
type problem struct {
	status        int
	heading, text string
	command       string // command to copy; empty if there is none
	cause         error  // cause for the log; nil if there is nothing to log
	again         int    // seconds after which a browser without scripts loads the page again; 0 for never
}

func (p *problem) Error() string { return p.heading + ": " + p.text }

type problemPage struct {
	view

	Heading, Text, Command string
}

// tell converts an error into a problem.
func (c *Console) tell(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if busy, ok := errors.AsType[*busyError](err); ok {
		return &problem{
			status: http.StatusServiceUnavailable, heading: "Too many bodies are being shown", again: 1,
			text: fmt.Sprintf("The console reads at most %d bodies %s at the same time, and none of these reads has ended in time. Try again in a moment.", busy.most, busy.from),
		}
	}
	if denied, ok := errors.AsType[*desk.DeniedError](err); ok {
		return &problem{status: http.StatusForbidden, heading: denied.Heading, text: denied.Text}
	}
	if wrong, ok := errors.AsType[*invalid](err); ok {
		return &problem{status: http.StatusBadRequest, heading: wrong.Label + " cannot be read", text: fmt.Sprintf("The value is %q: %s.", wrong.Value, wrong.Takes)}
	}
	if wrong, ok := errors.AsType[*ledger.StateError](err); ok {
		return &problem{status: http.StatusConflict, heading: "This cannot be done now", text: sentence(wrong.Error())}
	}
	if wrong, ok := errors.AsType[*runs.StateError](err); ok {
		return &problem{status: http.StatusConflict, heading: "This cannot be done now", text: sentence(wrong.Error())}
	}
	if errors.Is(err, inbox.ErrNotReplayable) {
		_, why, _ := strings.Cut(err.Error(), inbox.ErrNotReplayable.Error())
		return &problem{status: http.StatusConflict, heading: "This event cannot be replayed", text: sentence(strings.TrimLeft(why, ": "))}
	}
	if errors.Is(err, ledger.ErrNotResendable) {
		_, why, _ := strings.Cut(err.Error(), ledger.ErrNotResendable.Error()+": ")
		return &problem{status: http.StatusConflict, heading: "This effect cannot be resent", text: sentence(why)}
	}
	if errors.Is(err, inbox.ErrNotHeld) {
		_, why, _ := strings.Cut(err.Error(), inbox.ErrNotHeld.Error()+": ")
		return &problem{status: http.StatusConflict, heading: "This event is not held", text: sentence(why)}
	}
	if errors.Is(err, export.ErrNoAnswer) {
		return &problem{
			status: http.StatusServiceUnavailable, cause: err, heading: "The export does not answer",
			text: "The directory of retention.export did not answer in time: see whether its file system hangs. Events that Postgres still stores can be shown.", command: "hooklatch check",
		}
	}
	// Our own time limits are checked first, because sqlstate.Away also reports them as an outage:
	// after such a limit, it is unknown whether the server would have answered later.
	if _, refused := errors.AsType[*pgconn.ConnectError](err); errors.Is(err, context.DeadlineExceeded) && !refused && !errors.Is(err, commit.ErrUnavailable) {
		return &problem{
			status: http.StatusServiceUnavailable, cause: err, heading: "The database is too slow",
			text: fmt.Sprintf("The database did not answer within %s. Narrow the request, or check the server: hooklatch check shows what slows it down.", pageTimeout), command: "hooklatch check",
		}
	}
	if errors.Is(err, commit.ErrUnavailable) || sqlstate.Away(err) {
		return c.away(err)
	}
	if sqlstate.Is(err, sqlstate.InsufficientPrivilege) {
		return &problem{
			status: http.StatusForbidden, cause: err, heading: "This process lacks a database privilege",
			text: "The database role of a gateway may read and change less than the role of a worker. Use the console of a worker.",
		}
	}
	return &problem{
		status: http.StatusInternalServerError, cause: err, heading: "This page failed",
		text: "This is an error in Hooklatch. The log of this process has the cause, under the request id below.",
	}
}

func notAllowed(person signin.Person, needed signin.Role) *problem {
	is := "you have no role"
	if person.Role != "" {
		is = fmt.Sprintf("your role is %s", person.Role)
	}
	return &problem{
		status: http.StatusForbidden, heading: "You may not do this",
		text: fmt.Sprintf("This requires the role %s, and %s. The operator who maintains the configuration can grant it to you.", needed, is),
	}
}

// away returns the problem for a database that does not respond. Its text says since when this
// console has had no response.
func (c *Console) away(err error) *problem {
	now := c.opts.Now()
	c.awaySince.CompareAndSwap(nil, &now)
	since := now
	if first := c.awaySince.Load(); first != nil {
		since = *first
	}
	return &problem{
		status: http.StatusServiceUnavailable, cause: err, heading: "The database does not answer",
		text: fmt.Sprintf("This console has had no response from the database since %s. Meanwhile gateways answer 503, and senders retry: nothing is lost.",
			since.UTC().Format("15:04:05 MST")),
		command: "hooklatch check",
	}
}

// sentence converts an error text into a sentence.
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

// nowhere answers requests for unknown paths.
func nowhere(*request) error {
	return &problem{status: http.StatusNotFound, heading: "Page not found", text: "No page exists at this address. The navigation lists all pages."}
}
