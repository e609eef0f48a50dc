package outbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
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
	linkSources, linkIDs []string
	linkScopes, linkKeys []string
	linkGenerations      []int
	linkRepeats          []bool
	index                map[EffectID]int
}

// add appends e, unless the batch has its key already, and links event to it.
// event is nil for an effect the application enqueues.
func (r *effectRows) add(e NewEffect, event *Event) error {
	_, repeats := r.index[e.EffectID]
	if event != nil {
		r.linkSources = append(r.linkSources, event.Source)
		r.linkIDs = append(r.linkIDs, event.EventID)
		r.linkScopes = append(r.linkScopes, e.Scope)
		r.linkKeys = append(r.linkKeys, e.Key)
		r.linkGenerations = append(r.linkGenerations, e.Generation)
		r.linkRepeats = append(r.linkRepeats, repeats)
	}
	if repeats {
		return nil
	}
	headers, err := encodeHeaders(e.Request.Headers)
	if err != nil {
		return fmt.Errorf("encode headers: %w", err)
	}
	if r.index == nil {
		r.index = make(map[EffectID]int)
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
	var source, id, eventType, traceparent string
	var seq *int64
	if event != nil {
		source, id, eventType, traceparent, seq = event.Source, event.EventID, event.Type, event.Traceparent, &event.AcceptSeq
	}
	r.sources = append(r.sources, source)
	r.eventIDs = append(r.eventIDs, id)
	r.eventTypes = append(r.eventTypes, eventType)
	r.acceptSeqs = append(r.acceptSeqs, seq)
	r.traceparents = append(r.traceparents, traceparent)
	r.methods = append(r.methods, safeText(e.Request.Method))
	r.urls = append(r.urls, safeText(e.Request.URL))
	r.headers = append(r.headers, headers)
	r.contentTypes = append(r.contentTypes, safeText(e.Request.ContentType))
	r.bodies = append(r.bodies, e.Request.body())
	return nil
}

// insert returns which of the effects are new.
func (r *effectRows) insert(ctx context.Context, tx pgx.Tx, statement string) (map[EffectID]bool, error) {
	rows, err := tx.Query(ctx, statement,
		r.scopes, r.keys, r.generations, r.idempotencyKeys, r.routes, r.destinations, r.queues, r.policies,
		r.sources, r.eventIDs, r.eventTypes, r.acceptSeqs, r.traceparents,
		r.methods, r.urls, r.headers, r.contentTypes, r.bodies,
		r.linkSources, r.linkIDs, r.linkScopes, r.linkKeys, r.linkGenerations, r.linkRepeats)
	if err != nil {
		return nil, fmt.Errorf("create effects: %w", err)
	}
	created := make(map[EffectID]bool, len(r.scopes))
	var id EffectID
	if _, err := pgx.ForEachRow(rows, []any{&id.Scope, &id.Key, &id.Generation}, func() error {
		created[id] = true
		return nil
	}); err != nil {
		return nil, fmt.Errorf("create effects: %w", err)
	}
	return created, nil
}

// jobs returns one job for each effect that was created.
func (r *effectRows) jobs(o *Outbox, created map[EffectID]bool) []river.InsertManyParams {
	jobs := make([]river.InsertManyParams, 0, len(created))
	for i := range r.scopes {
		id := EffectID{Scope: r.scopes[i], Key: r.keys[i], Generation: r.generations[i]}
		if !created[id] {
			continue
		}
		jobs = append(jobs, o.effectJob(effectJob{
			id:          id,
			destination: r.destinations[i],
			queue:       r.queues[i],
			event:       EventRef{Source: r.sources[i], EventID: r.eventIDs[i]},
			eventType:   r.eventTypes[i],
			traceparent: r.traceparents[i],
		}))
	}
	return jobs
}

// createEffects writes the effects of plans that passed the fence, and one job
// for each new one.
func (o *Outbox) createEffects(ctx context.Context, tx pgx.Tx, plans []Dispatch) ([]Dispatched, error) {
	var rows effectRows
	results := make([]Dispatched, len(plans))
	for i, d := range plans {
		results[i] = Dispatched{Fenced: true, Outcome: d.outcome()}
		for _, e := range d.Effects {
			if err := rows.add(e, d.Event); err != nil {
				return nil, err
			}
		}
	}
	if len(rows.scopes) == 0 {
		return results, nil
	}
	created, err := rows.insert(ctx, tx, o.sql.createEffects)
	if err != nil {
		return nil, err
	}
	if err := o.insertJobs(ctx, tx, rows.jobs(o, created)); err != nil {
		return nil, err
	}
	for i, d := range plans {
		for _, e := range d.Effects {
			if created[e.EffectID] {
				delete(created, e.EffectID) // the next event with this key is suppressed
				results[i].Created = append(results[i].Created, e.EffectID)
				continue
			}
			results[i].Suppressed = append(results[i].Suppressed, e.EffectID)
		}
	}
	return results, nil
}
