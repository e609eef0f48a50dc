package console

import (
	"bytes"
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

// pageTimeout bounds what a page reads, and what an order takes.
const pageTimeout = 10 * time.Second

// request is what a page is asked, and all that its handler answers with: who asks, how they
// see it, whether they are a program, and the console's way to what is stored.
type request struct {
	*http.Request
	*Console

	w      http.ResponseWriter
	person signin.Person // whoever asks, with their role
	look   look          // the time zone and the colours they chose
	asData bool          // a program asks, and is answered in JSON
	id     string        // stands in the log and on the page
}

// page answers a request. Its error becomes a page that says what is wrong.
type page func(r *request) error

// serve gives each request a time limit and an id, and turns the error of a page into an answer.
func (c *Console) serve(asData bool, p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, asked *http.Request) {
		ctx, cancel := context.WithTimeout(asked.Context(), pageTimeout)
		defer cancel()
		r := &request{
			Request: asked.WithContext(ctx), Console: c, w: w,
			person: signin.PersonOf(ctx), look: lookOf(asked), asData: asData, id: uuid.NewString(),
		}
		err := p(r)
		if err == nil {
			c.awaySince.Store(nil)
			return
		}
		r.fail(c.tell(err))
	})
}

// fail answers with a problem.
func (r *request) fail(told *problem) {
	if told.cause != nil && !errors.Is(r.Context().Err(), context.Canceled) {
		r.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "a page of the console failed", slog.String(logkey.Path, r.URL.Path),
			slog.String(logkey.RequestID, r.id), slog.Any(logkey.Err, told.cause))
	}
	if r.asData {
		_ = api.WriteProblem(r.w, api.Problem{Title: told.heading, Status: told.status, Detail: told.text, Command: told.command, RequestID: r.id}) // it is plain text
		return
	}
	shown := problemPage{view: r.view("", told.heading), Heading: told.heading, Text: told.text, Command: told.command}
	shown.Done = ""
	if err := r.render(told.status, "problem", shown); err != nil {
		http.Error(r.w, told.heading, http.StatusInternalServerError)
	}
}

// view begins a page.
func (r *request) view(section, title string) view {
	return view{
		Title: title, Section: section, Person: r.person, Look: r.look, Here: r.URL.RequestURI(), Done: doneOf(r.URL.Query().Get("done")),
		Version: r.opts.Version, RequestID: r.id, Now: r.opts.Now(), Badges: r.badges(),
	}
}

// forPrograms is a page whose data a program may ask for.
type forPrograms interface{ data() (any, error) }

// render answers with a page, whole or not at all; to a program, with its data.
func (r *request) render(status int, name string, page any) error {
	if r.asData {
		of, is := page.(forPrograms)
		if !is {
			return errors.New("a page has no data, and is asked for by a program")
		}
		data, err := of.data()
		if err != nil {
			return err
		}
		return api.Write(r.w, http.StatusOK, data)
	}
	var body bytes.Buffer
	if err := r.templates[name].ExecuteTemplate(&body, "layout", page); err != nil {
		return fmt.Errorf("render page %s: %w", name, err)
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(status)
	_, _ = body.WriteTo(r.w) // whoever is gone does not need it
	return nil
}

// carriedOut is what came of an order.
type carriedOut struct {
	Done string `json:"done"`
	// At is where the thing is now.
	At        string `json:"at"`
	RequestID string `json:"request_id"`
}

// seeOther leads to a page that says what was done. A program is told at once.
func (r *request) seeOther(path, done string) {
	if r.asData {
		_ = api.Write(r.w, http.StatusOK, carriedOut{Done: doneOf(done), At: r.base + "/api" + path, RequestID: r.id}) // strings encode
		return
	}
	and := "?"
	if strings.Contains(path, "?") {
		and = "&"
	}
	http.Redirect(r.w, r.Request, r.base+path+and+url.Values{"done": {done}}.Encode(), http.StatusSeeOther)
}

// local is a path of the console that a form named, or its first page: nothing leads out
// of it.
func (r *request) local(given string) string {
	return r.base + strings.TrimPrefix(signin.Local(given), r.base)
}

// operator names the person for the record.
func (r *request) operator(reason string) ledger.Operator {
	via := "console"
	if r.asData {
		via = "api"
	}
	return ledger.Operator{Who: r.person.Name, Role: string(r.person.Role), Via: via, Reason: reason, RequestID: r.id}
}

// seen is what the person who asks sees of a source.
func (r *request) seen(source identity.Source) desk.View {
	return r.opts.Sight.Of(r.person, source)
}

// noteRead writes into the operator log that somebody saw a payload, where the
// configuration wants to know. What cannot be written down is not shown.
func (r *request) noteRead(target string) error {
	if r.opts.Reads == nil {
		return nil
	}
	return r.opts.Reads.Note(r.Context(), r.person, target, r.id)
}
