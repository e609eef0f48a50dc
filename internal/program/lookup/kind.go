package lookup

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// By is the way in which a text names a thing.
type By string

// The ways in which a text names a thing, in the order of results.
const (
	ByAddress     By = "address" // URL of a console page or an API request
	ByEvent       By = "event"   // SOURCE/EVENT_ID
	ByEventID     By = "event id"
	ByKey         By = "effect key" // the key in any form in which it was sent
	ByRun         By = "run"
	ByDelivery    By = "delivery id"
	ByRefused     By = "refused delivery"
	BySource      By = "source"
	ByDestination By = "destination"
	ByRoute       By = "route"
	ByValue       By = "indexed value" // value of a source with `search`: finds the newest events
)

// ByPayload marks events whose payload contains the text. Find returns none of them: see
// Asked.Payloads.
const ByPayload By = "payload"

// kind finds the things that a text names in one way.
type kind struct {
	by   By
	find func(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error)
}

func kinds() []kind {
	return []kind{
		{ByAddress, ofAddress},
		{ByEvent, ofEvent},
		{ByEventID, ofEventID},
		{ByKey, ofKey},
		{ByRun, ofRun},
		{ByDelivery, ofDelivery},
		{ByRefused, ofRefused},
		{BySource, named(desk.Sources, func(n Names) []string { return n.Sources })},
		{ByDestination, named(desk.Destinations, func(n Names) []string { return n.Destinations })},
		{ByRoute, named(Routes, func(n Names) []string { return n.Routes })},
		{ByValue, ofValue},
	}
}

// Kinds returns the ways in which Find looks up a text.
func Kinds() []By {
	var all []By
	for _, k := range kinds() {
		all = append(all, k.by)
	}
	return all
}

// ofEvent finds the event that a text names as SOURCE/EVENT_ID. The id may contain slashes.
func ofEvent(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	source, id, both := strings.Cut(asked.Text, "/")
	if !both || source == "" || id == "" {
		return nil, nil
	}
	return event(ctx, l, identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)})
}

func event(ctx context.Context, l *Lookup, ref identity.EventRef) ([]Hit, error) {
	found, err := l.Outbox.Inbox().EventsByRef(ctx, []identity.EventRef{ref})
	if e := found[ref]; e != nil {
		return []Hit{OfEvent("", e)}, nil
	}
	return nil, err
}

func ofEventID(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	found, err := l.Outbox.Finder().Events(ctx, find.Events{ID: identity.EventID(asked.Text), Source: asked.Source}, find.Beginning, MaxHits)
	return ofEvents(found.Rows), err
}

func ofEvents(events []*inbox.Event) []Hit {
	var hits []Hit
	for _, e := range events {
		hits = append(hits, OfEvent("", e))
	}
	return hits
}

// ofKey finds an effect by its key, which may be in the quotes of a header and may contain the
// number of a rotation.
func ofKey(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	key := strings.Trim(asked.Text, `"`)
	if !strings.HasPrefix(key, "hl_") {
		return nil, nil
	}
	e, err := l.Outbox.Ledger().Effect(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []Hit{{Of: desk.Effects, Target: desk.Target{Name: e.IdempotencyKey}, State: string(e.State), About: e.Destination, At: e.CreatedAt}}, nil
}

var runNumber = regexp.MustCompile(`^(?:run )?([0-9]{1,18})$`)

func ofRun(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	number := runNumber.FindStringSubmatch(asked.Text)
	if number == nil {
		return nil, nil
	}
	id, _ := strconv.ParseInt(number[1], 10, 64) // 18 digits fit
	if id == 0 {
		return nil, nil
	}
	run, err := l.Outbox.Runs().Get(ctx, id)
	if errors.Is(err, runs.ErrNoRun) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []Hit{{
		Of: desk.Runs, Target: desk.Target{Run: id}, Name: number[1], State: string(run.State), About: string(run.Action), At: run.CreatedAt,
	}}, nil
}

func ofDelivery(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	id, is := deliveryID(asked.Text)
	if !is {
		return nil, nil
	}
	events, err := l.Outbox.Finder().EventsOfDelivery(ctx, id, MaxHits)
	return ofEvents(events), err
}

func ofRefused(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	id, is := deliveryID(asked.Text)
	if !is {
		return nil, nil
	}
	found, err := l.Quarantine.Next(ctx, quarantine.Filter{ID: id}, quarantine.Mark{}, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	d := found[0]
	return []Hit{{Of: desk.Refused, Target: desk.Target{Name: d.ID.String()}, State: d.Reason, About: string(d.Source), At: d.RejectedAt}}, nil
}

// deliveryID parses an id in the usual form of a UUID, and refuses any other form. It also refuses
// the nil id, which a filter treats as all deliveries.
func deliveryID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && id != uuid.Nil && strings.EqualFold(id.String(), text)
}

func ofValue(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	events, err := l.Outbox.Finder().EventsOfValue(ctx, asked.Text, asked.Values, MaxHits)
	return ofEvents(events), err
}

// named returns a function that finds a thing by its name in the configuration.
func named(of desk.Thing, names func(Names) []string) func(context.Context, *Lookup, Asked) ([]Hit, error) {
	return func(_ context.Context, l *Lookup, asked Asked) ([]Hit, error) {
		if !slices.Contains(names(l.Names()), asked.Text) {
			return nil, nil
		}
		return []Hit{{Of: of, Target: desk.Target{Name: asked.Text}}}, nil
	}
}
