package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// maxReasonLen bounds what a provider may say about its retry.
const maxReasonLen = 255

// eventRow is an event as accept.sql reads it.
type eventRow struct {
	identity.EventRef

	AcceptanceID  uuid.UUID
	Provider      string
	EventType     string
	APIVersion    string
	OccurredAt    *time.Time
	DeliveryID    uuid.UUID
	Item          string
	PayloadHash   []byte
	Traceparent   string
	Queue         string
	ReplaySuspect bool
	RetryNumber   int
	RetryReason   string
	Held          bool // by a replay guard: no job
}

// deliveryRow is what events came in.
type deliveryRow struct {
	DeliveryID  uuid.UUID
	Source      identity.Source
	Headers     []byte
	ContentType string
	Body        []byte
}

type acceptArgs struct {
	Events     []eventRow
	Deliveries []deliveryRow
}

// acceptRows are the distinct events of a batch, in order of arrival.
type acceptRows struct {
	events     []eventRow
	receivedAt []time.Time // zero for what was known before
}

// add appends event i of a and returns its index.
func (r *acceptRows) add(a arrival, i int, replay verdict) int {
	in := a.Events[i]
	r.events = append(r.events, eventRow{
		EventRef:      identity.EventRef{Source: a.Source, EventID: in.ID},
		AcceptanceID:  a.acceptanceIDs[i],
		Provider:      a.Provider,
		EventType:     in.Type,
		APIVersion:    safetext.Storable(in.APIVersion),
		OccurredAt:    column.KnownTime(in.OccurredAt),
		DeliveryID:    a.deliveryID,
		Item:          safetext.Storable(in.Item),
		PayloadHash:   a.hashes[i],
		Traceparent:   safetext.Storable(a.Traceparent),
		Queue:         a.queue,
		ReplaySuspect: replay.action != "",
		RetryNumber:   a.RetryNumber,
		RetryReason:   safetext.Excerpt(a.RetryReason, maxReasonLen),
		Held:          replay.action == ReplayHold,
	})
	return len(r.events) - 1
}

// insertDispatchJobs inserts one job for each event that is new and not held.
func (o *Outbox) insertDispatchJobs(ctx context.Context, tx pgx.Tx, rows *acceptRows) error {
	jobs := make([]riverjob.DispatchJob, 0, len(rows.events))
	for i, e := range rows.events {
		if rows.receivedAt[i].IsZero() || e.Held {
			continue
		}
		jobs = append(jobs, riverjob.DispatchJob{
			Event:       e.EventRef,
			EventType:   e.EventType,
			Queue:       e.Queue,
			Traceparent: e.Traceparent,
		})
	}
	return o.jobs.InsertDispatches(ctx, tx, jobs)
}
