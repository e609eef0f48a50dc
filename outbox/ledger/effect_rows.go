package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// effectRows are the distinct effects of a batch and the links of its events
// to them, column by column.
type effectRows struct {
	scopes, keys         []string
	generations          []int
	idempotencyKeys      []string
	routes, destinations []string
	queues, policies     []string
	sources, eventIDs    []string
	eventTypes           []string
	acceptSeqs           []*int64
	traceparents         []string
	methods, urls        []string
	headers              [][]byte
	contentTypes         []string
	bodies               [][]byte
	orderKeys, onParks   []string
	latestKeys           []string
	occurredAts          []*time.Time
	renderings, parked   []string
	linkSources, linkIDs []string
	linkScopes, linkKeys []string
	linkGenerations      []int
	linkRepeats          []bool
	index                map[identity.EffectID]int
}

// add appends e, unless the batch has its key already, and links its cause to it.
// cause is nil for an effect the application enqueues.
// traceparent is that of the span which creates it.
func (r *effectRows) add(e NewEffect, cause *Cause, traceparent string) error {
	_, repeats := r.index[e.EffectID]
	if cause != nil {
		r.linkSources = append(r.linkSources, cause.Source)
		r.linkIDs = append(r.linkIDs, cause.EventID)
		r.linkScopes = append(r.linkScopes, e.Scope)
		r.linkKeys = append(r.linkKeys, e.Key)
		r.linkGenerations = append(r.linkGenerations, e.Generation)
		r.linkRepeats = append(r.linkRepeats, repeats)
	}
	if repeats {
		return nil
	}
	headers, err := column.Headers(e.Request.Headers)
	if err != nil {
		return fmt.Errorf("encode headers: %w", err)
	}
	if r.index == nil {
		r.index = make(map[identity.EffectID]int)
	}
	r.index[e.EffectID] = len(r.scopes)
	r.scopes = append(r.scopes, e.Scope)
	r.keys = append(r.keys, e.Key)
	r.generations = append(r.generations, e.Generation)
	r.idempotencyKeys = append(r.idempotencyKeys, e.IdempotencyKey())
	r.routes = append(r.routes, e.Route)
	r.destinations = append(r.destinations, e.Destination)
	r.queues = append(r.queues, e.Queue)
	r.policies = append(r.policies, string(e.policy()))
	var source, id, eventType string
	var seq *int64
	if cause != nil {
		source, id, eventType, seq = cause.Source, cause.EventID, cause.Type, &cause.AcceptSeq
	}
	r.sources = append(r.sources, source)
	r.eventIDs = append(r.eventIDs, id)
	r.eventTypes = append(r.eventTypes, eventType)
	r.acceptSeqs = append(r.acceptSeqs, seq)
	r.traceparents = append(r.traceparents, traceparent)
	r.methods = append(r.methods, safetext.Storable(e.Request.Method))
	r.urls = append(r.urls, safetext.Storable(e.Request.URL))
	r.headers = append(r.headers, headers)
	r.contentTypes = append(r.contentTypes, safetext.Storable(e.Request.ContentType))
	r.bodies = append(r.bodies, e.Request.body())
	r.orderKeys = append(r.orderKeys, e.orderKey())
	r.onParks = append(r.onParks, string(e.onPark()))
	r.latestKeys = append(r.latestKeys, e.LatestKey)
	r.occurredAts = append(r.occurredAts, e.occurred(cause))
	r.renderings = append(r.renderings, e.rendering())
	r.parked = append(r.parked, column.Reason(e.Parked))
	return nil
}

// insert returns which of the effects are new, and learns the queues of their
// destinations.
func (r *effectRows) insert(ctx context.Context, tx pgx.Tx, statement string) (map[identity.EffectID]bool, error) {
	created, err := r.written(tx.Query(ctx, statement,
		r.scopes, r.keys, r.generations, r.idempotencyKeys, r.routes, r.destinations, r.queues, r.policies,
		r.sources, r.eventIDs, r.eventTypes, r.acceptSeqs, r.traceparents,
		r.methods, r.urls, r.headers, r.contentTypes, r.bodies,
		r.orderKeys, r.onParks, r.latestKeys, r.occurredAts, r.renderings, r.parked,
		r.linkSources, r.linkIDs, r.linkScopes, r.linkKeys, r.linkGenerations, r.linkRepeats))
	if err != nil {
		return nil, fmt.Errorf("create effects: %w", err)
	}
	return created, nil
}

// render makes effects that an earlier plan of a replayed event could not
// render what this plan says, and returns which.
func (r *effectRows) render(ctx context.Context, tx pgx.Tx, statement string) (map[identity.EffectID]bool, error) {
	rendered, err := r.written(tx.Query(ctx, statement,
		r.scopes, r.keys, r.generations, r.destinations, r.queues, r.policies,
		r.methods, r.urls, r.headers, r.contentTypes, r.bodies,
		r.orderKeys, r.onParks, r.latestKeys, r.occurredAts, r.renderings, r.parked, r.traceparents))
	if err != nil {
		return nil, fmt.Errorf("render effects again: %w", err)
	}
	return rendered, nil
}

// written reads which effects a statement wrote, and where each of them waits.
func (r *effectRows) written(rows pgx.Rows, err error) (map[identity.EffectID]bool, error) {
	if err != nil {
		return nil, err
	}
	ids := make(map[identity.EffectID]bool)
	var id identity.EffectID
	var queue string
	_, err = pgx.ForEachRow(rows, []any{&id.Scope, &id.Key, &id.Generation, &queue}, func() error {
		ids[id] = true
		r.queues[r.index[id]] = queue
		return nil
	})
	return ids, err
}

func (r *effectRows) id(i int) identity.EffectID {
	return identity.EffectID{Scope: r.scopes[i], Key: r.keys[i], Generation: r.generations[i]}
}

func (r *effectRows) job(i int) riverjob.EffectJob {
	return riverjob.EffectJob{
		ID:          r.id(i),
		Destination: r.destinations[i],
		Queue:       r.queues[i],
		Event:       identity.EventRef{Source: r.sources[i], EventID: r.eventIDs[i]},
		EventType:   r.eventTypes[i],
		Traceparent: r.traceparents[i],
	}
}
