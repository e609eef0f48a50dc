package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// shownSource is a source with its status.
type shownSource struct {
	doctor.Source

	Configured bool
	Of         Source
}

// Path returns the path of the source's page, relative to the console's path.
func (s shownSource) Path() string { return sourcePath(s.Name) }

// Test returns the command that sends a test delivery.
func (s shownSource) Test() string { return "hooklatch send " + safetext.Shell(s.Name) }

// data returns the source's JSON.
func (s shownSource) data() plainjson.Joined {
	if s.Refused == nil {
		s.Refused = map[string]int64{}
	}
	return plainjson.Joined{s.Source, struct {
		Configured bool   `json:"configured"`
		Provider   string `json:"provider,omitzero"`
		URL        string `json:"url,omitzero"`
	}{s.Configured, s.Of.Provider, s.Of.URL}}
}

// unseen returns the configured sources that have not received anything yet.
func unseen(r *request, s *doctor.Status) []shownSource {
	var list []shownSource
	for _, one := range allSources(r, s) {
		if one.Configured && one.Unseen() {
			list = append(list, one)
		}
	}
	return list
}

// readSources returns the configured sources, and sources with data in the database.
func readSources(r *request) ([]shownSource, error) {
	s, err := r.status.Get(r.Context())
	if err != nil {
		return nil, err
	}
	return allSources(r, s), nil
}

// allSources returns the configured sources, and sources with data in a status.
func allSources(r *request, s *doctor.Status) []shownSource {
	all := map[string]shownSource{}
	for _, of := range s.Sources {
		if of.Name != measure.Unknown {
			all[of.Name] = shownSource{Source: of}
		}
	}
	if r.opts.Sources != nil {
		for _, of := range r.opts.Sources() {
			one := all[of.Name]
			one.Name, one.Of, one.Configured = of.Name, of, true
			all[of.Name] = one
		}
	}
	list := make([]shownSource, 0, len(all))
	for _, one := range all {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b shownSource) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

type sourcesPage struct {
	view

	List []shownSource
}

func (p sourcesPage) data() (any, error) {
	list := rows[any]{Rows: []any{}}
	for _, s := range p.List {
		list.Rows = append(list.Rows, s.data())
	}
	return list, nil
}

// Refused returns the number of a source's refused requests in the last hour, for all reasons.
func (sourcesPage) Refused(of shownSource) (n int64) {
	for _, some := range of.Source.Refused {
		n += some
	}
	return n
}

// listSources lists all sources.
func listSources(r *request) error {
	list, err := readSources(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "sources", sourcesPage{r.view("sources", "Sources"), list})
}

type sourcePage struct {
	view
	shownSource

	Steps    []string // setup steps
	Secrets  []secretSeen
	Passes   []coverage.Run // passes over the provider's list, newest first
	Commands []command
	// WhyNoTest is the reason why no test event can be sent. It is empty if test events can be
	// sent.
	WhyNoTest string
}

// secretSeen says when a delivery was last verified with the secret at a position.
type secretSeen struct {
	Position int       `json:"position"`
	At       time.Time `json:"matched_at,omitzero"` // zero if never
}

func (p sourcePage) data() (any, error) {
	return append(p.shownSource.data(), struct {
		Setup   []string       `json:"setup,omitempty"`
		Notes   []string       `json:"notes,omitempty"`
		Docs    string         `json:"docs,omitzero"`
		Secrets []secretSeen   `json:"secrets,omitempty"`
		Passes  []coverage.Run `json:"passes,omitempty"`
	}{p.Steps, p.Of.Notes, p.Of.Docs, p.Secrets, p.Passes}), nil
}

// Meaning returns the most likely cause of a refusal.
func (sourcePage) Meaning(reason string) string { return doctor.Meaning(reason) }

// showSource shows one source: its setup, when each secret last matched, and its refusals.
func showSource(r *request) error {
	list, err := readSources(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	at := slices.IndexFunc(list, func(s shownSource) bool { return s.Name == name })
	if at < 0 {
		return noSuchSource(name)
	}
	shown := sourcePage{view: r.view("sources", name), shownSource: list[at]}
	for _, step := range shown.Of.Setup {
		shown.Steps = append(shown.Steps, strings.ReplaceAll(step, "{url}", shown.Of.URL))
	}
	if shown.Secrets, err = secretsOf(r, shown.Of); err != nil {
		return err
	}
	if shown.Passes, err = passesOf(r, shown.shownSource); err != nil {
		return err
	}
	shown.WhyNoTest = r.whyNoTestEvent(name)
	if shown.Configured {
		shown.Commands = []command{
			{"send", "Send a test delivery, signed as its sender would sign it", shown.Test()},
			{"provider", "Show the provider's details", "hooklatch providers " + safetext.Shell(shown.Of.Provider)},
		}
	}
	if shown.Backfill != nil {
		shown.Commands = append(shown.Commands,
			command{"backfill", "Compare the source with the provider's list now", "hooklatch backfill " + safetext.Shell(name)},
			command{"passes", "Show what the last passes found", "hooklatch backfill status"})
	}
	return r.render(http.StatusOK, "source", shown)
}

func noSuchSource(name string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "Source not found",
		text: fmt.Sprintf("The configuration of this process has no source %s, and the database has no data about it.", name),
	}
}

func secretsOf(r *request, of Source) ([]secretSeen, error) {
	if len(of.Secrets) == 0 {
		return nil, nil
	}
	seen, err := r.opts.Measure.LastSeen(r.Context(), measure.OfSource, of.Name)
	if err != nil {
		return nil, err
	}
	list := make([]secretSeen, len(of.Secrets))
	for i, mark := range of.Secrets {
		list[i] = secretSeen{Position: i + 1, At: seen[measure.Secret(mark)]}
	}
	return list, nil
}
