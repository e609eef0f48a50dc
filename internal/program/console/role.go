package console

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// only refuses whoever has a lesser role, and writes down that it did.
func (c *Console) only(needed signin.Role, p page) page {
	return func(w http.ResponseWriter, r *http.Request) error {
		person := signin.PersonOf(r.Context())
		if person.Role.May(needed) {
			return p(w, r)
		}
		c.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "refused for want of a role", slog.String(logkey.Path, r.URL.Path),
			slog.String(logkey.Person, person.Name), slog.String(logkey.Role, string(person.Role)), slog.String(logkey.RequestID, requestID(r.Context())))
		return notAllowed(person, needed)
	}
}

func notAllowed(person signin.Person, needed signin.Role) *problem {
	is := "have none"
	if person.Role != "" {
		is = fmt.Sprintf("have the role %s", person.Role)
	}
	return &problem{
		status: http.StatusForbidden, heading: "You may not do this",
		text: fmt.Sprintf("It takes the role %s, and you %s. Whoever keeps the configuration can give it to you.", needed, is),
	}
}

// seen is what the person who asks sees of a source.
func (c *Console) seen(r *http.Request, source identity.Source) desk.View {
	return c.opts.Sight.Of(signin.PersonOf(r.Context()), source)
}

// noteRead writes into the operator log that somebody saw a payload, where the
// configuration wants to know. What cannot be written down is not shown.
func (c *Console) noteRead(r *http.Request, target string) error {
	if c.opts.Reads == nil {
		return nil
	}
	return c.opts.Reads.Note(r.Context(), signin.PersonOf(r.Context()), target, requestID(r.Context()))
}
