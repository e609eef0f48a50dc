package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// pageTimeout is the time limit for a page or an operator action.
const pageTimeout = 10 * time.Second

// request is a request for a page, with everything that a handler needs: the user and their look,
// the console, and whether the caller is a program.
type request struct {
	*http.Request
	*Console

	w      http.ResponseWriter
	person signin.Person // the user, with role
	look   look          // the chosen time zone and colours
	place  *bodyPlace    // the place of a body that the request has in memory
	asData bool          // if true, the caller is a program and gets JSON
	id     string        // shown in the log and on the page
	read   string        // names the server that was read, if there is a standby
}

// page handles a request. Its error becomes a page for a user, and JSON for a program.
type page func(r *request) error

// serve returns a handler that gives each request a time limit and an id, and turns the page's
// error into a response.
func (c *Console) serve(asData bool, p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, asked *http.Request) {
		ctx, cancel := context.WithTimeout(asked.Context(), pageTimeout)
		defer cancel()
		r := &request{
			Request: asked.WithContext(ctx), Console: c, w: w,
			person: signin.PersonOf(ctx), look: lookOf(asked), asData: asData, id: uuid.NewString(), place: c.bodies.place(),
		}
		defer r.place.free()
		err := p(r)
		if c.opts.Standby != nil && asked.Method == http.MethodPost {
			c.opts.Standby.Changed()
		}
		if err == nil {
			c.awaySince.Store(nil)
			return
		}
		r.fail(c.tell(err))
	})
}

// only returns a page that refuses callers without the needed role, and logs the refusal.
func only(needed signin.Role, p page) page {
	return func(r *request) error {
		if r.person.Role.May(needed) {
			return p(r)
		}
		r.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "refused: the user lacks the role", slog.String(logkey.Path, r.URL.Path),
			slog.String(logkey.Person, r.person.Name), slog.String(logkey.Role, string(r.person.Role)), slog.String(logkey.RequestID, r.id))
		return notAllowed(r.person, needed)
	}
}

// oneSearch returns a page that waits for the caller's turn if the query searches payloads. A link
// on another web site can start such a search, so the number of simultaneous searches must be
// limited.
func oneSearch(p page) page {
	return func(r *request) error {
		if asked := r.URL.Query(); asked.Get("when") == "" && asked.Get("contains") == "" {
			return p(r)
		}
		return inTurn(p)(r)
	}
}

// inTurn returns a page that waits for the caller's turn.
func inTurn(p page) page {
	return func(r *request) error {
		return r.inTurn(func() error { return p(r) })
	}
}

// inTurn waits until no other payload search of the user is running, and then runs search. If too
// many searches of the user wait, or the wait takes too long, inTurn refuses the search.
func (r *request) inTurn(search func() error) error {
	end, ok := r.searches.begin(r.Context(), r.person)
	if !ok {
		r.w.Header().Set("Retry-After", "1")
		return &problem{
			status: http.StatusTooManyRequests, heading: "Another of your searches is running",
			text: fmt.Sprintf("Each user can run one payload search at a time, and at most %d more can wait. Try again in a moment.", waitingTurns),
		}
	}
	defer end()
	return search()
}

// fail responds with a problem.
func (r *request) fail(told *problem) {
	if told.cause != nil && !errors.Is(r.Context().Err(), context.Canceled) {
		r.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "a page of the console failed", slog.String(logkey.Path, r.URL.Path),
			slog.String(logkey.RequestID, r.id), slog.Any(logkey.Err, told.cause))
	}
	if r.asData {
		_ = api.WriteProblem(r.w, api.Problem{Title: told.heading, Status: told.status, Detail: told.text, Command: told.command, RequestID: r.id}) // plain text always encodes
		return
	}
	shown := problemPage{view: r.view("", told.heading), Heading: told.heading, Text: told.text, Command: told.command}
	shown.Done, shown.Refresh = "", told.again
	if err := r.render(told.status, "problem", shown); err != nil {
		http.Error(r.w, told.heading, http.StatusInternalServerError)
	}
}

// view returns the common part of a page.
func (r *request) view(section, title string) view {
	return view{
		Title: title, Section: section, Person: r.person, Look: r.look, Here: r.URL.RequestURI(), Done: doneOf(r.URL.Query().Get("done")),
		Version: r.opts.Version, RequestID: r.id, Now: r.opts.Now(), Badges: r.badges(), Read: r.read,
	}
}

// carriedOut is the JSON of a completed operator action.
type carriedOut struct {
	Done string `json:"done"`
	// At is the path of the result.
	At        string `json:"at"`
	RequestID string `json:"request_id"`
}

// seeOther redirects to a page that reports the completed action. A program gets the report as
// JSON.
func (r *request) seeOther(path, done string) {
	if r.asData {
		_ = api.Write(r.w, http.StatusOK, carriedOut{Done: doneOf(done), At: r.base + "/api" + path, RequestID: r.id}) // strings always encode
		return
	}
	and := "?"
	if strings.Contains(path, "?") {
		and = "&"
	}
	http.Redirect(r.w, r.Request, r.base+path+and+url.Values{"done": {done}}.Encode(), http.StatusSeeOther)
}

// local returns the console path that a form contains. If the form's path leads out of the
// console, local returns the path of the first page.
func (r *request) local(given string) string {
	return r.base + strings.TrimPrefix(signin.Local(given), r.base)
}

// operator returns the user for the operator log. Repeated submissions of a form share their
// request id, so that the action is carried out once.
func (r *request) operator(reason string) ledger.Operator {
	via := "console"
	if r.asData {
		via = "api"
	}
	return ledger.Operator{Who: r.person.Name, Role: string(r.person.Role), Via: via, Reason: reason, RequestID: onceOf(r.PostForm, r.id)}
}

// seen returns the View that determines what the caller sees of a source's data.
func (r *request) seen(source identity.Source) desk.View {
	return r.opts.Sight.Of(r.person, source)
}

// noteRead records in the operator log that the user viewed or searched payloads, if the
// configuration requires it. Callers show nothing if noteRead returns an error.
func (r *request) noteRead(target string) error {
	if r.opts.Reads == nil {
		return nil
	}
	return r.opts.Reads.Note(r.Context(), r.person, target, r.id)
}
