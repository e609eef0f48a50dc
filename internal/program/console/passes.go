package console

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// shownPasses is the maximum number of passes shown for a source.
const shownPasses = 10

// subject returns the source as the subject of operator actions.
func (s shownSource) subject() subject {
	of := subject{
		Target: desk.Target{Name: s.Name}, State: desk.Listed, Of: s.Name, Back: s.Path(), noSuch: noSuchList(s.Name),
		wrong: func(desk.Verb) error { return noSuchList(s.Name) },
	}
	if s.Backfill == nil {
		of.State = desk.Unlisted
	}
	return of
}

// Offers returns the currently possible verbs.
func (s shownSource) Offers() []offer { return s.subject().offers(desk.Sources) }

// passesOf returns the last passes over a source's lists, newest first.
func passesOf(r *request, of shownSource) ([]coverage.Run, error) {
	if of.Backfill == nil {
		return nil, nil
	}
	return r.opts.Outbox.Coverage().Runs(r.Context(), identity.Source(of.Name), shownPasses)
}

// ByAccount reports whether the source has a list for each account. Only passes over such lists
// have names.
func (p sourcePage) ByAccount() bool {
	return slices.ContainsFunc(p.Passes, func(r coverage.Run) bool { return r.Name != "" })
}

func noSuchList(source string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "No provider list to read",
		text: fmt.Sprintf("No worker has read a provider's list for the source %s. A worker does so if the source has backfill in its configuration.", source),
	}
}

// sourceSubject returns the source in the URL as the subject of operator actions.
func sourceSubject(r *request) (subject, error) {
	named := shownSource{Source: doctor.Source{Name: r.PathValue("name")}}
	list, err := readSources(r)
	if at := slices.IndexFunc(list, func(s shownSource) bool { return s.Name == named.Name }); at >= 0 {
		named = list[at]
	}
	return named.subject(), err
}
