package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// maxReasonLen limits a provider's reason for its retry, in bytes.
const maxReasonLen = 255

// maxAlteredLen limits the description of the differences between a listed event and its webhook,
// in bytes.
const maxAlteredLen = 255

// eventRow is one row of the argument :events of accept.sql.
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
	Held          bool // a replay guard holds the event: no job
	Origin        identity.Origin
	Altered       string
	JobPriority   int16
	JobArgs       string // empty: no job
	JobMetadata   string
	JobTags       string
}

// deliveryRow is one row of the argument :deliveries of accept.sql.
type deliveryRow struct {
	DeliveryID  uuid.UUID
	Source      identity.Source
	Headers     []byte
	ContentType string
	Body        []byte
}

type acceptArgs struct {
	Events      []eventRow
	Deliveries  []deliveryRow
	Kind        string // kind of the jobs
	MaxAttempts int
}

// acceptOneArgs are the arguments for a batch of one delivery with one event to store.
type acceptOneArgs struct {
	eventRow

	Headers     []byte
	ContentType string
	Body        []byte
	Kind        string // kind of the job
	MaxAttempts int
}

// plannedRow is one row of the argument :events of accept_planned.sql.
type plannedRow struct {
	eventRow

	CameAt         *time.Time    // receipt time by the database's clock; nil: the time of the transaction
	PlannedOutcome inbox.Outcome // outcome of the event's plan; empty: no plan
	ConfigHash     string
	Configuration  int64
	Routes         string
	ForHandlers    bool
}

type acceptPlannedArgs struct {
	newerThan

	Events      []plannedRow
	Deliveries  []deliveryRow
	Kind        string // kind of the jobs
	MaxAttempts int
}

// acceptRows are the distinct events of a batch, in order of arrival.
type acceptRows struct {
	events   []eventRow
	at       []eventAt             // positions of the events in the batch
	planned  []plannedRow          // all events, if at least one has a plan
	by       []fleet.Configuration // configurations of the plans
	inserted []insertedEvent       // one for each event; zero for a duplicate
}

// insertedEvent is an event that T1 stored.
type insertedEvent struct {
	receivedAt time.Time
	acceptSeq  int64
	planned    bool // the event has the outcome of its plan, and no job
}

// add appends a row for one event of the arrival a, and returns the row's index. The position of
// the event in the batch is at.
func (r *acceptRows) add(a arrival, at eventAt, replay verdict) int {
	i := at.event
	in := a.Events[i]
	held := replay.action == ReplayHold
	job := a.jobs[i]
	if held {
		job = riverjob.DispatchText{}
	}
	r.at = append(r.at, at)
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
		Traceparent:   a.Traceparent,
		Queue:         a.queue,
		ReplaySuspect: replay.action != "",
		RetryNumber:   a.RetryNumber,
		RetryReason:   safetext.Excerpt(a.RetryReason, maxReasonLen),
		Held:          held,
		Origin:        a.Origin,
		Altered:       safetext.Excerpt(a.Altered, maxAlteredLen),
		JobPriority:   riverjob.Priority(a.Origin),
		JobArgs:       job.Args,
		JobMetadata:   job.Metadata,
		JobTags:       job.Tags,
	})
	return len(r.events) - 1
}

// storing returns the statement that stores a batch's events, with their deliveries and jobs.
func (o *Outbox) storing(rows *acceptRows, batch []arrival) statement.Bound {
	deliveries := make([]deliveryRow, len(batch))
	for i, a := range batch {
		deliveries[i] = deliveryRow{DeliveryID: a.deliveryID, Source: a.Source, Headers: a.headers, ContentType: a.ContentType, Body: a.Body}
		if a.Body == nil {
			deliveries[i].Body = []byte{} // NULL is not an empty body
		}
	}
	if rows.planned != nil {
		return o.sql.AcceptPlanned.With(acceptPlannedArgs{
			newerThan: configurationsNewerThan(rows.by...), Events: rows.planned, Deliveries: deliveries,
			Kind: riverjob.KindDispatch, MaxAttempts: riverjob.MaxDispatchAttempts,
		})
	}
	if len(deliveries) == 1 && len(rows.events) == 1 {
		d := deliveries[0]
		return o.sql.AcceptOne.With(acceptOneArgs{
			eventRow: rows.events[0], Headers: d.Headers, ContentType: d.ContentType, Body: d.Body,
			Kind: riverjob.KindDispatch, MaxAttempts: riverjob.MaxDispatchAttempts,
		})
	}
	return o.sql.Accept.With(acceptArgs{
		Events: rows.events, Deliveries: deliveries, Kind: riverjob.KindDispatch, MaxAttempts: riverjob.MaxDispatchAttempts,
	})
}

// tellOfJobs notifies workers of the jobs of new events. Held and planned events have no job.
func (o *Outbox) tellOfJobs(ctx context.Context, tx pgx.Tx, rows *acceptRows) error {
	var queues []string
	for i, e := range rows.events {
		if rows.inserted[i].receivedAt.IsZero() || e.Held || rows.inserted[i].planned {
			continue
		}
		if !slices.Contains(queues, e.Queue) {
			queues = append(queues, e.Queue)
		}
	}
	return o.jobs.Tell(ctx, tx, queues)
}
