package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/find"
)

// Operations returns the operations of the API, such as "GET /api/events", with their roles.
func Operations() map[string]signin.Role {
	all := map[string]signin.Role{"GET /api/openapi.json": signin.Viewer}
	for _, e := range entries() {
		if !slices.Contains(onlyPages(), e.pattern) {
			method, _, _ := strings.Cut(e.pattern, " ")
			all[method+" "+api.PathOf(e.pattern)] = e.role
		}
	}
	return all
}

// OnlyPages returns the pages without a counterpart in the API.
func OnlyPages() []string { return onlyPages() }

// Parameters returns the names of the query parameters, by operation.
func Parameters() map[string][]string {
	r := &request{Console: new(Console)}
	all := map[string][]string{}
	for operation, fields := range map[string][]field{
		"GET /api/events": eventFields(r), "GET /api/effects": effectFields(r), "GET /api/audit": fieldsOf[find.Actions](nil),
		"GET /api/numbers":    numbersFields(r),
		"GET /api/quarantine": quarantineFields(r), "POST /api/quarantine/verify": quarantineFields(r),
	} {
		for _, f := range fields {
			all[operation] = append(all[operation], f.Name)
		}
	}
	run := []string{"of", "action", "last", "as_of"}
	for _, f := range append(eventFields(r), effectFields(r)...) {
		if !slices.Contains(run, f.Name) {
			run = append(run, f.Name)
		}
	}
	all["GET /api/runs"], all["POST /api/runs/new"] = []string{"before", "limit"}, run
	all["GET /api/runs/new"] = append(slices.Clone(run), "after", "counted")
	all["GET /api/find"] = []string{"q", "source", "in", "before"}
	for _, list := range []string{"GET /api/events", "GET /api/effects", "GET /api/audit"} {
		all[list] = append(all[list], "before", "limit")
	}
	return all
}

// HoldSearches occupies a user's search turn, and all places in the queue for the turn, until
// release is called.
func (c *Console) HoldSearches(p signin.Person) (release func()) { return c.searches.hold(p) }

// HoldDownloads is like HoldSearches, but for downloads.
func (c *Console) HoldDownloads(p signin.Person) (release func()) { return c.bodies.downloads.hold(p) }

func (s *turns) hold(p signin.Person) (release func()) {
	who := turnOwner{p.Way, p.Name}
	for range waitingTurns {
		s.enter(who)
	}
	end, _ := s.begin(context.Background(), p)
	return func() {
		end()
		for range waitingTurns {
			s.leave(who)
		}
	}
}

// Searching returns the number of a user's running or waiting searches.
func (c *Console) Searching(p signin.Person) int {
	c.searches.mu.Lock()
	defer c.searches.mu.Unlock()
	if mine := c.searches.of[turnOwner{p.Way, p.Name}]; mine != nil {
		return mine.here
	}
	return 0
}

// HoldBodies takes all places for stored bodies on pages, or all places for downloads if sent is
// true, until release is called.
func (c *Console) HoldBodies(sent bool) (release func()) {
	places := c.bodies.shown
	if sent {
		places = c.bodies.sent
	}
	for range cap(places) {
		places <- struct{}{}
	}
	return func() {
		for range cap(places) {
			<-places
		}
	}
}

// Bodies returns the number of page requests that have a stored body in memory. Downloads do not
// count.
func (c *Console) Bodies() int { return len(c.bodies.shown) }

// ExportedBodies is like Bodies, for bodies that are read from the export.
func (c *Console) ExportedBodies() int { return len(c.bodies.exported) }

// Watched returns the number of filters whose newest events are kept for the live page.
func (c *Console) Watched() int {
	c.tails.mu.Lock()
	defer c.tails.mu.Unlock()
	return len(c.tails.of)
}

// Heading returns the heading of the page that shows an error.
func Heading(err error) string { return (&Console{opts: Options{Now: time.Now}}).tell(err).heading }
