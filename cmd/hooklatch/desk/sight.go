package console

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/pretty"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/signin"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/life"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/payload"
)

// maskedValue stands where a value is that is not shown.
const maskedValue = `"<masked>"`

// sight is what a person sees of what came from a source, and of what was made of it.
type sight struct {
	hidden string   // why nothing is seen. Empty: something is.
	masked []string // pointers to values that are not. Empty: all are.
}

// sightOf is what the person who asks sees.
func (c *Console) sightOf(r *http.Request, source identity.Source) sight {
	person := signin.PersonOf(r.Context())
	if needed := cmp.Or(c.opts.Payloads, signin.Viewer); !person.Role.May(needed) {
		return sight{hidden: fmt.Sprintf("Payloads take the role %s. Yours is %s.", needed, person.Role)}
	}
	if person.Role.May(signin.Admin) {
		return sight{}
	}
	return sight{masked: c.opts.Mask[string(source)]}
}

// whole fails where not all is seen: bytes cannot be masked and stay what they are.
func (s sight) whole() error {
	const heading = "You may not see these bytes"
	switch {
	case s.hidden != "":
		return &problem{status: http.StatusForbidden, heading: heading, text: s.hidden}
	case len(s.masked) > 0:
		return &problem{
			status: http.StatusForbidden, heading: heading,
			text: "Values of this source are masked, and exact bytes have them all. They take the role admin.",
		}
	}
	return nil
}

// whyNot is why an effect's request and answers are not shown: a request may be made of
// any value of its event. Empty: they are.
func (s sight) whyNot() string {
	if s.hidden == "" && len(s.masked) > 0 {
		return "Values of the source are masked, and what is sent is made of them. It takes the role admin."
	}
	return s.hidden
}

// payload is an event's, without the values that are masked. Where it cannot be told
// where they are, none of it is shown.
func (s sight) payload(e *inbox.Event) pretty.Payload {
	body, stored := e.Payload(), e.Body != nil && e.ErasedAt.IsZero()
	switch {
	case !stored:
	case s.hidden != "":
		return pretty.Hidden(s.hidden)
	case len(s.masked) > 0 && payload.KindOf(e.ContentType, body) == payload.Other:
		return pretty.Hidden("Values of this source are masked, and this payload is neither JSON nor a form, in which they could be found. It takes the role admin.")
	}
	var shown []byte
	end := 0
	for _, place := range payload.Places(e.ContentType, body, "", s.masked) {
		shown = append(append(shown, body[end:place.Start]...), maskedValue...)
		end = place.End
	}
	if end > 0 {
		body = append(shown, body[end:]...)
	}
	return pretty.Of(body, stored)
}

// concealEvent takes what is not seen away from an event and its effects.
func (s sight) concealEvent(l *life.Event) {
	if s.hidden != "" {
		l.Event.Headers = nil
	}
	for i := range l.Effects {
		s.concealEffect(&l.Effects[i])
	}
}

// concealEffect takes what is not seen away from an effect and its attempts.
func (s sight) concealEffect(e *life.Effect) {
	s.conceal(&e.Effect)
	if s.whyNot() != "" {
		for i := range e.Attempts {
			e.Attempts[i].ResponseExcerpt = ""
		}
	}
}

// conceal takes what is not seen away from a row.
func (s sight) conceal(e *ledger.Effect) {
	if s.whyNot() != "" {
		e.Request.URL, e.Request.Body, e.Request.Headers, e.ResponseExcerpt = "", nil, nil, ""
	}
}

// refuseSearch fails where somebody looks for what may not be seen: by asking often
// enough a value can be found out.
func (c *Console) refuseSearch(r *http.Request, content find.Content, source identity.Source) error {
	if content.IsZero() {
		return nil
	}
	const heading = "You may not search payloads"
	s := c.sightOf(r, source)
	switch {
	case s.hidden != "":
		return &problem{status: http.StatusForbidden, heading: heading, text: s.hidden}
	case len(s.masked) > 0, source == "" && len(c.opts.Mask) > 0 && !signin.PersonOf(r.Context()).Role.May(signin.Admin):
		return &problem{
			status: http.StatusForbidden, heading: heading,
			text: "Values are masked, and a condition could find them out. Name a source that has none masked; for the others it takes the role admin.",
		}
	}
	return nil
}

// noteRead writes into the operator log that somebody saw a payload, where the
// configuration wants to know. What cannot be written down is not shown.
func (c *Console) noteRead(r *http.Request, target string) error {
	if c.opts.Reads == nil {
		return nil
	}
	return c.opts.Reads.Note(r.Context(), signin.PersonOf(r.Context()), target, requestID(r.Context()))
}
