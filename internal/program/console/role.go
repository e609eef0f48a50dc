package console

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

// only refuses callers without the needed role, and logs that.
func only(needed signin.Role, p page) page {
	return func(r *request) error {
		if r.person.Role.May(needed) {
			return p(r)
		}
		r.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "refused for want of a role", slog.String(logkey.Path, r.URL.Path),
			slog.String(logkey.Person, r.person.Name), slog.String(logkey.Role, string(r.person.Role)), slog.String(logkey.RequestID, r.id))
		return notAllowed(r.person, needed)
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
