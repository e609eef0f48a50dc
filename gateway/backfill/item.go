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

// State is how a delivery went, as the provider says.
type State string

// The values of State.
const (
	Unlisted  State = ""          // the list is of events, not of deliveries
	Delivered State = "delivered" // our endpoint answered 2xx
	Pending   State = "pending"   // the provider still tries
	Failed    State = "failed"
)

// Fate is what a pass makes of an item.
type Fate string

// The values of Fate.
const (
	FateKnown    Fate = "known"
	FateMissing  Fate = "missing"
	FateFiltered Fate = "filtered"
	FateInvalid  Fate = "invalid"
)

// Item is an event, or a delivery of some, as a list shows it.
type Item struct {
	Ref     string // its name at the provider
	At      time.Time
	State   State
	Events  []provider.Event
	Altered string // in what it differs from what the webhook said

	raw     gjson.Result
	request *provider.Request // nil: Fetch brings it
	invalid error
}

// ids are the keys of its events.
func (i *Item) ids() []identity.EventID {
	ids := make([]identity.EventID, len(i.Events))
	for n, e := range i.Events {
		ids[n] = identity.EventID(e.ID)
	}
	return ids
}

// shape makes of an item the request that the webhook was, and finds its events by the
// rules for the webhook. What cannot be read is invalid; that is no reason to stop.
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
		i.invalid = errors.New("the list has no body of it")
		return nil
	}
	// A webhook that was sent as a form is listed with the content type of a form, and its
	// body as JSON.
	if found.Type != gjson.String && !strings.Contains(header.Get("Content-Type"), "json") {
		header.Set("Content-Type", "application/json")
	}
	if p.list.Mark != "" && strings.Contains(text, p.list.Mark) {
		i.Altered = p.list.Altered
	}
	if p.list.Wrap != "" {
		text = strings.Replace(p.list.Wrap, "{item}", text, 1)
	}
	// The text of gjson is a part of the whole answer, which is not to be held.
	i.request = &provider.Request{Method: http.MethodPost, Header: header, Body: []byte(text)}
	i.Events, i.invalid = p.source.Provider.Events(i.request)
	if i.invalid == nil && len(i.Events) == 0 {
		i.invalid = errors.New("there is no event in it")
	}
	i.raw = gjson.Result{}
	for n := range i.Events {
		if p.version != "" && i.Events[n].APIVersion != "" && i.Events[n].APIVersion != p.version {
			i.Altered = "version " + i.Events[n].APIVersion
		}
	}
	return nil
}

// keeps reports whether a header of a listed request may be stored: one that the provider
// describes its deliveries with, and no secret (I12).
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

// fetch brings the request of an item that the list shows without.
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

// delivery is what is accepted of an item.
func (p *pass) delivery(i *Item) outbox.Delivery {
	incoming := make([]outbox.Incoming, len(i.Events))
	for n, e := range i.Events {
		incoming[n] = outbox.Incoming{ID: identity.EventID(e.ID), Type: e.Type, APIVersion: e.APIVersion, OccurredAt: e.OccurredAt, Item: e.Item, Part: e.Part}
	}
	return outbox.Delivery{
		Source: identity.Source(p.source.Name), Provider: p.source.Provider.Name,
		Headers: i.request.Header, ContentType: i.request.Header.Get("Content-Type"), Body: i.request.Body, Events: incoming,
		Handlers: p.source.Handlers, ContentWindow: p.source.ContentWindow, Origin: identity.Backfill, Altered: i.Altered,
	}
}

// judge decides on an item, as far as the list alone says it.
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

// isTest reports whether an item is of something that did not happen, which the source
// does not take.
func (p *pass) isTest(i *Item) bool {
	return i.request != nil && p.source.Livemode && p.source.Provider.TestEvent != nil && p.source.Provider.TestEvent(i.request)
}
