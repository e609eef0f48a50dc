package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// inPayloads is the value of the parameter `in` that requests a payload search even if the text
// names something.
const inPayloads = "payloads"

func findFields(r *request) []field {
	return []field{
		{Field: find.Field{Name: "q", Label: "ID, key, name, URL or any text"}},
		{Field: find.Field{Name: "source", Label: "Source"}, Options: orEmpty(r.sourceNames())},
	}
}

// findPage shows the things that a text names, or the events whose payload contains it.
type findPage struct {
	listing[*inbox.Event]

	Text     string
	Hits     []lookup.Hit
	Unread   []lookup.By
	Cells    []Cell // with their hits
	Searched bool   // payloads were searched
	Payloads string // path of the same search in payloads
	Events   string // path of the list of events with the same condition
}

// Cut reports whether the text may name more things than the page shows.
func (p findPage) Cut() bool {
	return cutHits(p.Hits) || slices.ContainsFunc(p.Cells, func(c Cell) bool { return cutHits(c.Hits) })
}

// cutHits reports whether the text may name more things in a cell than hits contains.
func cutHits(hits []lookup.Hit) bool { return len(hits) >= lookup.MaxHits }

// Path returns the path of a hit's page, relative to the console's path.
func (findPage) Path(h lookup.Hit) string {
	switch h.Of {
	case desk.Events:
		return eventPath(h.Target.Event)
	case desk.Effects:
		return effectPath(h.Name)
	case desk.Runs:
		return runPath(h.Target.Run)
	case desk.Sources:
		return sourcePath(h.Name)
	case desk.Destinations:
		return destinationPath(h.Name)
	case desk.Refused:
		return "/quarantine/" + url.PathEscape(h.Name)
	}
	return routePath(h.Name)
}

// count returns the number of hits in all cells.
func (p findPage) count() int {
	n := len(p.Hits)
	for _, c := range p.Cells {
		n += len(c.Hits)
	}
	return n
}

// only returns the path of the only hit, or "" if there are several or none, or if a cell did not
// answer.
func (p findPage) only() string {
	if p.count() != 1 || slices.ContainsFunc(p.Cells, func(c Cell) bool { return c.Away != "" }) {
		return ""
	}
	for _, c := range p.Cells {
		if len(c.Hits) == 1 {
			return c.Path + p.Path(c.Hits[0])
		}
	}
	return p.Path(p.Hits[0])
}

// Named says how many things the text names. It returns "" if the text names nothing.
func (p findPage) Named() string {
	switch n := p.count(); n {
	case 0:
		return ""
	case 1:
		return "1 thing has this id, key or name"
	default:
		return fmt.Sprintf("%d things have this id, key or name", n)
	}
}

// NotSearched returns a sentence with the kinds that were not searched, or "" if there are none.
func (findPage) NotSearched(unread []lookup.By) string {
	if len(unread) == 0 {
		return ""
	}
	return sentence(lookup.NotSearched(unread))
}

// Kind returns the kind of a hit.
func (findPage) Kind(h lookup.Hit) string {
	if h.Of == desk.Refused {
		return string(lookup.ByRefused)
	}
	return h.Of.One()
}

// ContinuesAlone reports whether a page without scripts requests the next page automatically.
func (p findPage) ContinuesAlone() bool { return p.Searched && p.More && len(p.Rows) == 0 }

// Older returns the query for the next page.
func (p findPage) Older() string { return p.at(p.Next) }

// Newest returns the query for the first page.
func (p findPage) Newest() string { return p.at(find.Beginning) }

// at returns the query for the payload search from a position.
func (p findPage) at(from find.Cursor) string {
	return cmp.Or(p.Query.Encode(from), "?") + "&" + url.Values{"in": {inPayloads}}.Encode()
}

// Commands returns the commands that search for the same text.
func (p findPage) Commands() []command {
	if p.Text == "" {
		return nil
	}
	source := ""
	if name := p.Query.Get("source"); name != "" {
		source = " --source " + safetext.Shell(name)
	}
	all := []command{{"find", "The same search", "hooklatch find" + source + " " + safetext.Operands(p.Text)}}
	if p.Searched {
		all = append(all, command{"list", "The events whose payload contains the text", "hooklatch events list" + source + " --contains " + safetext.Shell(p.Text)})
	}
	return all
}

// hits is the JSON of the things that a text names.
type hits struct {
	Hits []lookup.Hit `json:"hits"`
	// Cut is true if the text may name more things than Hits contains. Hits contains at most
	// lookup.MaxHits things of each kind.
	Cut bool `json:"cut,omitzero"`
	// Searched is true if payloads were searched. The rows in the response are the events found.
	Searched bool `json:"searched"`
	// Unread are the kinds that this process cannot read.
	Unread []lookup.By `json:"unread,omitempty"`
	// Cells are the hits in the other cells.
	Cells []hitsOfCell `json:"cells,omitempty"`
}

// hitsOfCell is the JSON of the things that a text names in another cell.
type hitsOfCell struct {
	Cell string       `json:"cell"`
	Away string       `json:"away,omitzero"` // why the cell did not answer
	Hits []lookup.Hit `json:"hits"`
	Cut  bool         `json:"cut,omitzero"`

	Unread []lookup.By `json:"unread,omitempty"`
}

func (p findPage) data() (any, error) {
	events, err := p.listing.data()
	if err != nil {
		return nil, err
	}
	var ofCells []hitsOfCell
	for _, c := range p.Cells {
		ofCells = append(ofCells, hitsOfCell{c.Name, c.Away, orEmpty(c.Hits), cutHits(c.Hits), c.Unread})
	}
	return plainjson.Joined{hits{orEmpty(p.Hits), cutHits(p.Hits), p.Searched, p.Unread, ofCells}, events}, nil
}

// findAnything finds the things that a text names. It redirects a browser to the page of a single
// thing, to the address in a URL of the console, or, without a text, to the list of events.
// Otherwise, it lists the things. If the text names nothing, or the query asks for payloads,
// findAnything searches payloads for the text.
func findAnything(r *request) error {
	asked := strings.TrimSpace(r.URL.Query().Get("q"))
	if to := r.addressOf(asked); to != "" && !r.asData {
		http.Redirect(r.w, r.Request, to, http.StatusSeeOther)
		return nil
	}
	if asked == "" && !r.asData {
		http.Redirect(r.w, r.Request, r.base+"/events", http.StatusSeeOther)
		return nil
	}
	q := readQuery(findFields(r), r.URL.Query())
	shown := findPage{listing: listing[*inbox.Event]{view: r.view("", "Find"), What: "find", Query: q}, Text: q.Get("q")}
	text := lookup.Asked{Text: asked, Source: identity.Source(q.Get("source"))}
	if err := text.Validate(); err != nil {
		shown.Wrong = cmp.Or(q.long, &invalid{"Text", safetext.Storable(safetext.Cut(asked, maxValue/64)), err.Error()})
		return r.render(http.StatusBadRequest, "find", shown)
	}
	also := r.URL.Query().Get("in") == inPayloads
	if !also {
		var err error
		if text.Values, err = searchedValues(r, text); err != nil {
			return err
		}
		if shown.Hits, shown.Unread, err = r.lookup.Find(r.Context(), text); err != nil {
			return err
		}
		if r.opts.FindInCells != nil {
			shown.Cells = r.opts.FindInCells(r.Context(), lookup.Asked{Text: asked, Source: text.Source})
		}
		if to := shown.only(); to != "" && !r.asData {
			http.Redirect(r.w, r.Request, r.base+to, http.StatusSeeOther)
			return nil
		}
	}
	shown.Payloads = "/find" + shown.at(find.Beginning)
	if shown.count() > 0 {
		return r.render(http.StatusOK, "find", shown)
	}
	return searchPayloads(r, shown, text.Payloads())
}

// searchedValues returns the sources whose indexed values the user may search. If there are any, it
// records the search.
func searchedValues(r *request, text lookup.Asked) ([]identity.Source, error) {
	content := text.Payloads().Content
	searched := slices.DeleteFunc(r.lookup.Indexed(text.Source), func(source identity.Source) bool {
		return r.opts.Sight.RefuseSearch(r.person, content, source) != nil
	})
	if len(searched) == 0 {
		return nil, nil
	}
	return searched, noteSearch(r, content)
}

// searchPayloads shows the next events whose payload contains the text.
func searchPayloads(r *request, shown findPage, filter find.Events) error {
	err := maySearch(r, filter.Content, filter.Source)
	if denied, is := errors.AsType[*desk.DeniedError](err); is {
		return &problem{
			status: http.StatusForbidden, heading: "Nothing found outside payloads",
			text: "The text is not an id, key or name, and payloads were not searched. " + denied.Text,
		}
	}
	if err != nil {
		return err
	}
	list := url.Values{"contains": {filter.Contains}}
	if filter.Source != "" {
		list.Set("source", string(filter.Source))
	}
	shown.Searched, shown.Events = true, "/events?"+list.Encode()
	return r.inTurn(func() error {
		found, err := r.finder.Events(r.Context(), filter, shown.Query.Cursor, rowsOnPage)
		if wrong, is := errors.AsType[*invalid](shown.Query.cursorError(err)); is {
			shown.Wrong = wrong
			return r.render(http.StatusBadRequest, "find", shown)
		}
		if err != nil {
			return err
		}
		shown.Page = found
		return r.render(http.StatusOK, "find", shown)
	})
}

// addressOf converts a URL with the path of a console page into a local address, whatever the URL's
// host. It returns "" for any other text.
func (r *request) addressOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") {
		return ""
	}
	at := strings.TrimPrefix(u.Path, r.base)
	section, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	if !strings.HasPrefix(at, "/") || !slices.Contains([]string{"events", "effects", "runs", "destinations", "sources", "quarantine", "audit", "routes", "numbers"}, section) {
		return ""
	}
	return r.local(u.RequestURI())
}
