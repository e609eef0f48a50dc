package desk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Sight defines the roles that see payloads and the requests made from them.
type Sight struct {
	// Payloads is the lowest role that sees payloads, headers and receivers' responses. Defaults
	// to Viewer.
	Payloads signin.Role
	// Mask lists, by source, JSON pointers to values that only admins see.
	Mask map[string][]string
}

// DeniedError is returned when a caller may not see the requested data. Its text names the required
// role.
type DeniedError struct{ Heading, Text string }

// Error implements error.
func (e *DeniedError) Error() string { return e.Heading + ": " + e.Text }

// maskedValue replaces a masked value.
const maskedValue = `"<masked>"`

// View determines which parts of a source's events, and of the requests made from them, a caller
// sees.
type View struct {
	hidden string   // reason why nothing is shown; empty if something is shown
	masked []string // pointers to values that are not shown; empty if all are shown
}

// Of returns a user's view of a source.
func (s Sight) Of(person signin.Person, source identity.Source) View {
	if needed := cmp.Or(s.Payloads, signin.Viewer); !person.Role.May(needed) {
		return View{hidden: fmt.Sprintf("Payloads require the role %s. Your role is %s.", needed, person.Role)}
	}
	if person.Role.May(signin.Admin) {
		return View{}
	}
	return View{masked: s.Mask[string(source)]}
}

// Whole returns a *DeniedError unless everything is shown: bytes with masked values would not be
// exact.
func (v View) Whole() error {
	const heading = "You may not see the exact bytes"
	switch {
	case v.hidden != "":
		return &DeniedError{heading, v.hidden}
	case len(v.masked) > 0:
		return &DeniedError{heading, "Some values of this source are masked. The exact bytes contain these values and require the role admin."}
	}
	return nil
}

// WhyNot returns the reason why an effect's request and responses are not shown, or "" if they are
// shown. A request may contain any value of its event.
func (v View) WhyNot() string {
	if v.hidden == "" && len(v.masked) > 0 {
		return "Some values of this source are masked, and requests may contain them. Requests and responses require the role admin."
	}
	return v.hidden
}

// Payload returns an event's payload without the masked values. If these values cannot be located,
// no part of the payload is shown.
func (v View) Payload(e *inbox.Event) pretty.Payload {
	body, stored := e.Payload(), e.Body != nil && e.ErasedAt.IsZero()
	switch {
	case !stored:
	case v.hidden != "":
		return pretty.Hidden(v.hidden)
	case len(v.masked) > 0 && payload.KindOf(e.ContentType, body) == payload.Other:
		return pretty.Hidden("Some values of this source are masked, and this payload is neither JSON nor a form, so they cannot be located. The payload requires the role admin.")
	}
	var shown []byte
	end := 0
	for _, place := range payload.Places(e.ContentType, body, "", v.masked) {
		shown = append(append(shown, body[end:place.Start]...), maskedValue...)
		end = place.End
	}
	if end > 0 {
		body = append(shown, body[end:]...)
	}
	return pretty.Of(body, stored)
}

// ConcealEvent clears fields of an event and its effects that the caller must not see. The function of
// returns the caller's view of a source: an effect may have been created by an event of another
// source, under the same key.
func ConcealEvent(l *life.Event, of func(identity.Source) View) {
	if of(l.Event.Source).hidden != "" {
		l.Event.Headers = nil
	}
	for i := range l.Effects {
		of(l.Effects[i].Event.Source).ConcealEffect(&l.Effects[i])
	}
}

// ConcealEffect clears fields of an effect and its attempts that the caller must not see.
func (v View) ConcealEffect(e *life.Effect) {
	v.Conceal(&e.Effect)
	if v.WhyNot() != "" {
		for i := range e.Attempts {
			e.Attempts[i].ResponseExcerpt = ""
		}
	}
}

// ShowsResponse reports whether the effect has a receiver's response that the caller may see. A
// response may repeat data of the event.
func (v View) ShowsResponse(e life.Effect) bool {
	return v.WhyNot() == "" && (e.ResponseExcerpt != "" || slices.ContainsFunc(e.Attempts, func(a ledger.Attempt) bool { return a.ResponseExcerpt != "" }))
}

// Conceal clears fields of an effect that the caller must not see.
func (v View) Conceal(e *ledger.Effect) {
	if v.WhyNot() != "" {
		e.Request.URL, e.Request.Body, e.Request.Headers, e.ResponseExcerpt = "", nil, nil, ""
	}
}

// ConcealRefused clears fields of a refused delivery that the caller must not see. The query of its
// address may contain the same data as its body.
func (v View) ConcealRefused(d *quarantine.Delivery) {
	if v.WhyNot() != "" {
		d.Headers, d.Body = nil, nil
		d.Target, _, _ = strings.Cut(d.Target, "?")
	}
}

// RefuseSearch returns a *DeniedError if a user searches for values that the user must not see:
// enough searches would reveal a value.
func (s Sight) RefuseSearch(person signin.Person, content find.Content, source identity.Source) error {
	if content.IsZero() {
		return nil
	}
	const heading = "You may not search payloads"
	v := s.Of(person, source)
	switch {
	case v.hidden != "":
		return &DeniedError{heading, v.hidden}
	case len(v.masked) > 0, source == "" && len(s.Mask) > 0 && !person.Role.May(signin.Admin):
		return &DeniedError{heading, "Some values are masked, and a condition could reveal them. Name a source without masked values; searching the others requires the role admin."}
	}
	return nil
}

// ConcealRun replaces the values in a run's search condition by hashes if the user must not search
// with the condition: the condition and the number of selected rows would reveal values.
func (s Sight) ConcealRun(person signin.Person, run runs.Run) runs.Run {
	if s.RefuseSearch(person, run.Content(), run.Source()) != nil {
		run.Order = run.Concealed(run.By.RequestID)
	}
	return run
}
