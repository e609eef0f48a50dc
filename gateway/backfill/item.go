package backfill

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// State is the outcome of a delivery, as the provider reports it.
type State string

// Values of State.
const (
	Unlisted  State = ""          // the list contains events, not deliveries
	Delivered State = "delivered" // our endpoint answered 2xx
	Pending   State = "pending"   // the provider is still trying
	Failed    State = "failed"
)

// Fate is the result of comparing an item with the stored events.
type Fate string

// Values of Fate.
const (
	FateKnown    Fate = "known"
	FateMissing  Fate = "missing"
	FateFiltered Fate = "filtered"
	FateInvalid  Fate = "invalid"
)

// Item is a listed event, or a listed delivery of events.
type Item struct {
	Ref     string // the item's name at the provider
	At      time.Time
	State   State
	Events  []provider.Event
	Altered string // differences between the item and the webhook

	raw     gjson.Result
	request *provider.Request // if the list does not include the request, nil until fetch loads it
	invalid error
}

// ids returns the keys of the item's events.
func (i *Item) ids() []identity.EventID {
	ids := make([]identity.EventID, len(i.Events))
	for n, e := range i.Events {
		ids[n] = identity.EventID(e.ID)
	}
	return ids
}

// shape rebuilds the webhook request from a listed item and extracts its events with the
// webhook's rules. An unreadable item becomes invalid and does not stop the pass.
func (p *pass) shape(i *Item, raw gjson.Result) error {
	header := http.Header{"Content-Type": {"application/json"}}
	if p.list.RequestHeaders != "" {
		jsonpointer.Lookup(raw, p.list.RequestHeaders).ForEach(func(name, value gjson.Result) bool {
			if p.keeps(name.String()) {
				header.Set(name.String(), value.String())
			}
			return true
		})
	}
	found := jsonpointer.Lookup(raw, p.list.Body)
	text := found.Raw
	if found.Type == gjson.String {
		text = found.Str
	}
	if !found.Exists() || text == "" {
		i.invalid = errors.New("the list has no body for it")
		return nil
	}
	// A webhook that was sent as a form is listed with a form's content type but a JSON body.
	if found.Type != gjson.String && !strings.Contains(header.Get("Content-Type"), "json") {
		header.Set("Content-Type", "application/json")
	}
	if p.list.Mark != "" && strings.Contains(text, p.list.Mark) {
		i.Altered = p.list.Altered
	}
	if p.list.Wrap != "" {
		text = strings.Replace(p.list.Wrap, "{item}", text, 1)
	}
	// Copy the text: gjson's text is a slice of the complete response and would keep all of it in
	// memory.
	i.request = &provider.Request{Method: http.MethodPost, Header: header, Body: []byte(text)}
	i.Events, i.invalid = p.source.Provider.Events(i.request)
	if i.invalid == nil && len(i.Events) == 0 {
		i.invalid = errors.New("it contains no event")
	}
	i.raw = gjson.Result{}
	for n := range i.Events {
		if p.version != "" && i.Events[n].APIVersion != "" && i.Events[n].APIVersion != p.version {
			i.Altered = "version " + i.Events[n].APIVersion
		}
	}
	return nil
}

// keeps reports whether a header of a listed request may be stored: it must describe the
// delivery and contain no secret (I12).
func (p *pass) keeps(name string) bool {
	name = http.CanonicalHeaderKey(name)
	if name == "Content-Type" {
		return true
	}
	for _, secret := range append([]string{"Authorization", "Cookie"}, p.source.Provider.SecretHeaders...) {
		if http.CanonicalHeaderKey(secret) == name {
			return false
		}
	}
	return slices.ContainsFunc(p.source.Provider.HeaderFamilies, func(family string) bool {
		matches, _ := path.Match(family, name)
		return matches
	})
}

// fetch loads an item's request if the list does not include it.
func (p *pass) fetch(ctx context.Context, i *Item) error {
	if i.request != nil || p.list.Fetch == "" {
		return nil
	}
	a, err := p.call(ctx, http.MethodGet, p.expand(p.list.Fetch, query{}, i.Ref))
	if err != nil {
		return err
	}
	fetched := Item{At: i.At}
	if err := p.shape(&fetched, a.body); err != nil {
		return err
	}
	if fetched.invalid == nil && len(i.Events) == 1 && fetched.Events[0].ID != i.Events[0].ID {
		fetched.invalid = errors.New("the list and the item have different ids")
	}
	i.request, i.Altered, i.invalid = fetched.request, fetched.Altered, fetched.invalid
	if i.invalid == nil {
		i.Events = fetched.Events
	}
	return nil
}

// delivery builds the delivery to accept for an item.
func (p *pass) delivery(i *Item) outbox.Delivery {
	incoming := make([]outbox.Incoming, len(i.Events))
	for n, e := range i.Events {
		incoming[n] = outbox.Incoming{ID: identity.EventID(e.ID), Type: e.Type, APIVersion: e.APIVersion, OccurredAt: e.OccurredAt, Item: e.Item, Part: e.Part}
	}
	return outbox.Delivery{
		Source: identity.Source(p.source.Name), Provider: p.source.Provider.Name,
		Headers: i.request.Header, ContentType: i.request.Header.Get("Content-Type"), Body: i.request.Body, Events: incoming,
		Handlers: p.source.Handlers, Origin: identity.Backfill, Altered: i.Altered,
	}
}

// judge compares an item with the stored events and returns its fate. The parameter known contains
// the keys of the listed events that are already stored.
func (p *pass) judge(i *Item, known map[identity.EventID]bool) Fate {
	switch {
	case i.invalid != nil:
		return FateInvalid
	case !slices.ContainsFunc(i.Events, func(e provider.Event) bool { return p.wants(e.Type) }):
		return FateFiltered
	case p.isTest(i):
		return FateFiltered
	case !slices.ContainsFunc(i.ids(), func(id identity.EventID) bool { return !known[id] }):
		return FateKnown
	}
	return FateMissing
}

// isTest reports whether an item is a test event and the source accepts only live events.
func (p *pass) isTest(i *Item) bool {
	return i.request != nil && p.source.Livemode && p.source.Provider.TestEvent != nil && p.source.Provider.TestEvent(i.request)
}
