package console

import (
	"net/url"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// editable is an effect's request in the form in which an operator edits it before a resend.
type editable struct {
	Method, URL string
	Headers     string // one header per line
	Body        string
	WhyNot      string // why the body cannot be edited on a page; empty if it can
}

// editing returns the request of an effect for editing, as stored or with the changes in a form,
// and the effect with its body. A caller who must not see the whole request cannot edit it: masks
// would overwrite the masked values. Errors: *desk.DeniedError, ledger.ErrNotResendable, and
// errors of the database.
func (r *request) editing(e ledger.Effect) (*editable, ledger.Effect, error) {
	if why := r.seen(e.Event.Source).WhyNot(); why != "" {
		return nil, e, &desk.DeniedError{Heading: "You may not resend this effect", Text: why}
	}
	if err := e.CheckResend(); err != nil {
		return nil, e, err
	}
	stored, err := loadBody(r, &e)
	if err != nil {
		return nil, e, err
	}
	if !r.asData {
		if err := r.noteRead(e.IdempotencyKey + "/body"); err != nil {
			return nil, e, err
		}
	}
	shown := &editable{Method: e.Request.Method, URL: e.Request.URL, Headers: desk.HeaderLines(e.Request)}
	switch {
	case !stored:
		shown.WhyNot = "The body is not stored."
	case !desk.IsText(e.Request.Body):
		shown.WhyNot = "The body is not text, or is too large for a page, and is sent unchanged. Use the command line to replace it."
	default:
		shown.Body = string(e.Request.Body)
	}
	if sent := r.PostForm; sent != nil {
		if sent.Has("headers") {
			shown.Headers = sent.Get("headers")
		}
		if sent.Has("body") && shown.WhyNot == "" {
			shown.Body = sent.Get("body")
		}
	}
	return shown, e, nil
}

// resending reads the changes to a request from the form. A program's body is used unchanged. A
// browser's body counts as edited only if it differs in more than line breaks, because browsers
// change line breaks: see desk.EditBody. Errors: *invalid.
func (r *request) resending(e ledger.Effect) (c ledger.Resend, err error) {
	form := r.PostForm
	if form.Has("headers") {
		if err := desk.EditHeaders(&c, form.Get("headers"), e.Request); err != nil {
			return c, &invalid{"Headers", middle(form.Get("headers")), err.Error()}
		}
	}
	switch {
	case !form.Has("body"):
	case r.asData:
		c.Body = []byte(form.Get("body"))
	case desk.IsText(e.Request.Body):
		desk.EditBody(&c, form.Get("body"), e.Request.Body)
	}
	return c, nil
}

// onceOf returns the id by which repeated submissions of a form count once, or other if the form
// has no valid id.
func onceOf(form url.Values, other string) string {
	if once, err := uuid.Parse(form.Get("once")); err == nil {
		return once.String()
	}
	return other
}
