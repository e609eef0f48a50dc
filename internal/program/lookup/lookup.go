// Package lookup finds the things that a text names: by id, key, number, name or console address.
// The command line, the console and its API share it. A text that names nothing may occur in
// payloads: Payloads returns the filter that searches them.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// MaxText is the maximum length of a text, in bytes.
const MaxText = 4 << 10

// MaxHits is the maximum number of hits of one kind. If there are more, Find returns the newest, or
// the first events of a delivery.
const MaxHits = 50

// Errors of Validate and Find about a text.
var (
	ErrEmpty = errors.New("the text is empty")
	ErrLong  = fmt.Errorf("the text has more than %d bytes", MaxText)
	ErrBytes = errors.New("the text contains NUL, or bytes that are not UTF-8: no stored text has them")
)

// Routes are the routes of the configuration, in addition to the things of package desk.
const Routes desk.Thing = "routes"

// Options configure a Lookup. All fields are required.
type Options struct {
	Outbox     *outbox.Outbox
	Quarantine Quarantine
	// Names returns the names in the current configuration.
	Names func() Names
}

// Quarantine reads refused deliveries.
type Quarantine interface {
	Next(ctx context.Context, f quarantine.Filter, after quarantine.Mark, limit int) ([]quarantine.Delivery, error)
}

// Names are the names in a configuration.
type Names struct {
	Sources, Destinations, Routes []string
	Searched                      []string // sources with `search`
}

// Lookup finds the things that a text names. It is safe for concurrent use.
type Lookup struct{ Options }

// New returns a Lookup. It does not access the database.
func New(opts Options) *Lookup { return &Lookup{opts} }

// Asked is a text to look up, and the scope of the search.
type Asked struct {
	Text   string
	Source identity.Source // limits ByEventID and Payloads to this source, if it is set
	// Values are the sources whose indexed values the caller may search: see Indexed.
	Values []identity.Source
}

// Indexed returns the sources whose values are indexed. If `only` is not empty, Indexed omits all
// other sources.
func (l *Lookup) Indexed(only identity.Source) []identity.Source {
	var indexed []identity.Source
	for _, name := range l.Names().Searched {
		if source := identity.Source(name); only == "" || source == only {
			indexed = append(indexed, source)
		}
	}
	return indexed
}

// Validate returns ErrEmpty, ErrLong or ErrBytes if the text cannot be looked up.
func (a Asked) Validate() error {
	switch {
	case strings.TrimSpace(a.Text) == "":
		return ErrEmpty
	case len(a.Text) > MaxText:
		return ErrLong
	case safetext.Storable(a.Text) != a.Text:
		return ErrBytes
	}
	return nil
}

// Payloads returns the filter of events whose payload contains the text.
func (a Asked) Payloads() find.Events {
	return find.Events{Source: a.Source, Content: find.Content{Contains: strings.TrimSpace(a.Text)}}
}

// Hit is a thing that a text names.
type Hit struct {
	By     By          `json:"by"` // way in which the text names the thing
	Of     desk.Thing  `json:"of"`
	Target desk.Target `json:"-"`
	Name   string      `json:"name"` // SOURCE/EVENT_ID, a key, an id, a number or a name
	State  string      `json:"state,omitzero"`
	About  string      `json:"about,omitzero"` // a property by which an operator recognises the thing
	At     time.Time   `json:"at,omitzero"`    // time at which the thing was received, created or requested
}

// Find returns the things that a text names, in the order of Kinds, each thing once. The result
// unread lists the kinds that the database role cannot read, for example because it is a gateway's
// role. Errors: ErrEmpty, ErrLong, ErrBytes and the database's.
func (l *Lookup) Find(ctx context.Context, asked Asked) (all []Hit, unread []By, err error) {
	if err := asked.Validate(); err != nil {
		return nil, nil, fmt.Errorf("find: %w", err)
	}
	asked.Text = strings.TrimSpace(asked.Text)
	for _, k := range kinds() {
		hits, err := k.find(ctx, l, asked)
		if sqlstate.Is(err, sqlstate.InsufficientPrivilege) {
			unread = append(unread, k.by)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("find by %s: %w", k.by, err)
		}
		for _, h := range hits {
			if h.By == "" {
				h.By = k.by
			}
			if h.Name == "" {
				h.Name = h.Target.String()
			}
			if !slices.ContainsFunc(all, func(known Hit) bool { return known.Of == h.Of && known.Name == h.Name }) {
				all = append(all, h)
			}
		}
	}
	return all, unread, nil
}

// NotSearched says which kinds were not searched.
func NotSearched(unread []By) string {
	words := make([]string, len(unread))
	for i, by := range unread {
		words[i] = string(by)
	}
	return "not searched, because the database role lacks a privilege: " + strings.Join(words, ", ")
}

// OfEvent returns the hit for an event.
func OfEvent(by By, e *inbox.Event) Hit {
	target := desk.Target{Event: e.EventRef}
	return Hit{By: by, Of: desk.Events, Target: target, Name: target.String(), State: string(e.Outcome), About: e.Type, At: e.ReceivedAt}
}
