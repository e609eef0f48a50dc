package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/api"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/signin"
	"github.com/hooklatch/hooklatch/outbox/coverage"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// order is what a person can have done to one thing.
type order struct {
	Name   string // in the URL, and of the command
	Button string
	// Means is what it does in the world.
	Means string
	// Done is what is said afterwards.
	Done string
	do   func(c *Console, ctx context.Context, target string, by ledger.Operator) error
}

// asked is an order on one thing, before it is carried out.
type asked struct {
	order

	Heading string
	Target  string
	Of      string // what the thing is, in words
	Back    string // path of its page
	Query   string // of the order. Empty: it needs none.
	At      string // where it is ordered, where that is not below Back
	Pace    string // that can be changed. Empty: there is none.
	NewKeys bool   // new keys can be asked for
	Doubt   string // why it has to be looked at elsewhere first. Empty: it has not.
	noSuch  func(target string) *problem
}

// Action is where it is ordered, below the path of the console.
func (a asked) Action() string {
	if a.At != "" {
		return a.At
	}
	return a.Back + "/" + a.Name + a.Query
}

type confirmPage struct {
	view
	asked

	Wrong  string // what is missing in the form
	Reason string
}

// data tells a program what keeps its order from being carried out.
func (p confirmPage) data() (any, error) {
	return nil, &problem{status: http.StatusUnprocessableEntity, heading: p.Heading, text: p.Doubt + " " + p.Wrong}
}

// ask shows what an order does before anything is done: it changes nothing.
func (c *Console) ask(w http.ResponseWriter, r *http.Request, section string, what asked) error {
	return c.render(w, http.StatusOK, "confirm", confirmPage{view: c.view(r, section, what.Heading), asked: what})
}

// carryOut does what was confirmed, writes who ordered it in the same transaction, and
// leads back to the thing.
func (c *Console) carryOut(w http.ResponseWriter, r *http.Request, section string, what asked) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	if what.Doubt != "" && r.PostForm.Get("looked") == "" {
		return c.render(w, http.StatusUnprocessableEntity, "confirm", confirmPage{
			view: c.view(r, section, what.Heading), asked: what, Reason: reason,
			Wrong: "Say that you have looked at the receiver: this may apply the effect twice.",
		})
	}
	if err := what.do(c, r.Context(), what.Target, operatorOf(r, reason)); err != nil {
		if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrUnknownDestination) || errors.Is(err, runs.ErrNoRun) || errors.Is(err, coverage.ErrNoList) {
			return what.noSuch(what.Target)
		}
		return err
	}
	c.seeOther(w, r, what.Back, what.Name)
	return nil
}

// seeOther leads to a page that says what was done. A program is told at once.
func (c *Console) seeOther(w http.ResponseWriter, r *http.Request, path, done string) {
	if asksData(r.Context()) {
		_ = api.Write(w, http.StatusOK, carriedOut{Done: doneOf(done), At: c.base + "/api" + path, RequestID: requestID(r.Context())}) // strings encode
		return
	}
	and := "?"
	if strings.Contains(path, "?") {
		and = "&"
	}
	http.Redirect(w, r, c.base+path+and+url.Values{"done": {done}}.Encode(), http.StatusSeeOther)
}

func unreadableForm() *problem {
	return &problem{status: http.StatusBadRequest, heading: "This form cannot be read", text: "Go back and send it again."}
}

// operatorOf names the person for the record.
func operatorOf(r *http.Request, reason string) ledger.Operator {
	person, via := signin.PersonOf(r.Context()), "console"
	if asksData(r.Context()) {
		via = "api"
	}
	return ledger.Operator{Who: person.Name, Role: string(person.Role), Via: via, Reason: reason, RequestID: requestID(r.Context())}
}

// doneOf says what was just ordered; only words of ours are said.
func doneOf(name string) string {
	for _, o := range effectOrders {
		if o.Name == name {
			return o.Done
		}
	}
	for _, o := range slices.Concat(destinationOrders, sourceOrders) {
		if o.Name == name {
			return o.Done
		}
	}
	for _, o := range append([]order{replayOrder, {Name: "begun", Done: "It has begun and is recorded. It goes on when this page is closed."}}, runOrders...) {
		if o.Name == name {
			return o.Done
		}
	}
	if accepted, refused, is := strings.Cut(name, "-"); is {
		var n, left int
		if _, err := fmt.Sscanf(accepted+" "+refused, "verified%d %d", &n, &left); err == nil {
			return fmt.Sprintf("Verified again: %d now prove themselves and are accepted, %d do not. It is recorded.", n, left)
		}
	}
	return ""
}
