package desk

import (
	"cmp"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Sight says who sees what came in, and what was made of it.
type Sight struct {
	// Payloads is the role that sees payloads, headers and what receivers answered.
	// Defaults to Viewer.
	Payloads signin.Role
	// Mask are pointers to values of each source that admins alone see.
	Mask map[string][]string
}

// DeniedError says what a person may not see, and which role may.
type DeniedError struct{ Heading, Text string }

func (e *DeniedError) Error() string { return e.Heading + ": " + e.Text }

// maskedValue stands where a value is that is not shown.
const maskedValue = `"<masked>"`

// View is what a person sees of what came from a source, and of what was made of it.
type View struct {
	hidden string   // why nothing is seen. Empty: something is.
	masked []string // pointers to values that are not. Empty: all are.
}

// Of is what a person sees of a source.
func (s Sight) Of(person signin.Person, source identity.Source) View {
	if needed := cmp.Or(s.Payloads, signin.Viewer); !person.Role.May(needed) {
		return View{hidden: fmt.Sprintf("Payloads take the role %s. Yours is %s.", needed, person.Role)}
	}
	if person.Role.May(signin.Admin) {
		return View{}
	}
	return View{masked: s.Mask[string(source)]}
}

// Whole fails where not all is seen: bytes cannot be masked and stay what they are.
func (v View) Whole() error {
	const heading = "You may not see these bytes"
	switch {
	case v.hidden != "":
		return &DeniedError{heading, v.hidden}
	case len(v.masked) > 0:
		return &DeniedError{heading, "Values of this source are masked, and exact bytes have them all. They take the role admin."}
	}
	return nil
}

// WhyNot is why an effect's request and answers are not shown: a request may be made of
// any value of its event. Empty: they are.
func (v View) WhyNot() string {
	if v.hidden == "" && len(v.masked) > 0 {
		return "Values of the source are masked, and what is sent is made of them. It takes the role admin."
	}
	return v.hidden
}

// Payload is an event's, without the values that are masked. Where it cannot be told
// where they are, none of it is shown.
func (v View) Payload(e *inbox.Event) pretty.Payload {
	body, stored := e.Payload(), e.Body != nil && e.ErasedAt.IsZero()
	switch {
	case !stored:
	case v.hidden != "":
		return pretty.Hidden(v.hidden)
	case len(v.masked) > 0 && payload.KindOf(e.ContentType, body) == payload.Other:
		return pretty.Hidden("Values of this source are masked, and this payload is neither JSON nor a form, in which they could be found. It takes the role admin.")
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

// ConcealEvent takes what is not seen away from an event and its effects.
func (v View) ConcealEvent(l *life.Event) {
	if v.hidden != "" {
		l.Event.Headers = nil
	}
	for i := range l.Effects {
		v.ConcealEffect(&l.Effects[i])
	}
}

// ConcealEffect takes what is not seen away from an effect and its attempts.
func (v View) ConcealEffect(e *life.Effect) {
	v.Conceal(&e.Effect)
	if v.WhyNot() != "" {
		for i := range e.Attempts {
			e.Attempts[i].ResponseExcerpt = ""
		}
	}
}

// Conceal takes what is not seen away from a row.
func (v View) Conceal(e *ledger.Effect) {
	if v.WhyNot() != "" {
		e.Request.URL, e.Request.Body, e.Request.Headers, e.ResponseExcerpt = "", nil, nil, ""
	}
}

// RefuseSearch fails where a person looks for what may not be seen: by asking often enough
// a value can be found out.
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
		return &DeniedError{heading, "Values are masked, and a condition could find them out. Name a source that has none masked; for the others it takes the role admin."}
	}
	return nil
}

// ConcealRun takes what a run looks for away from those who may not look for it: with the
// number that it selected it would be an answer.
func (s Sight) ConcealRun(person signin.Person, run runs.Run) runs.Run {
	if s.RefuseSearch(person, run.Content(), run.Source()) != nil {
		run.Order = run.Concealed(run.By.RequestID)
	}
	return run
}
