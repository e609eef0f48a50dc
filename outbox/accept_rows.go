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

// acceptRows are the distinct events of a batch, column by column, in order of
// arrival.
type acceptRows struct {
	sources       []string
	eventIDs      []string
	acceptanceIDs []uuid.UUID
	providers     []string
	types         []string
	apiVersions   []string
	occurredAt    []*time.Time
	deliveryIDs   []uuid.UUID
	items         []string
	hashes        [][]byte
	traceparents  []string
	queues        []string
	suspects      []bool
	retryNumbers  []int
	retryReasons  []string
	held          []bool // by a replay guard: no job

	receivedAt []time.Time // zero for what was known before
}

func newAcceptRows(size int) *acceptRows {
	return &acceptRows{
		sources:       make([]string, 0, size),
		eventIDs:      make([]string, 0, size),
		acceptanceIDs: make([]uuid.UUID, 0, size),
		providers:     make([]string, 0, size),
		types:         make([]string, 0, size),
		apiVersions:   make([]string, 0, size),
		occurredAt:    make([]*time.Time, 0, size),
		deliveryIDs:   make([]uuid.UUID, 0, size),
		items:         make([]string, 0, size),
		hashes:        make([][]byte, 0, size),
		traceparents:  make([]string, 0, size),
		queues:        make([]string, 0, size),
		suspects:      make([]bool, 0, size),
		retryNumbers:  make([]int, 0, size),
		retryReasons:  make([]string, 0, size),
		held:          make([]bool, 0, size),
		receivedAt:    make([]time.Time, 0, size),
	}
}

// add appends event i of a and returns its index.
func (r *acceptRows) add(a arrival, i int, replay verdict) int {
	in := a.Events[i]
	occurredAt := column.KnownTime(in.OccurredAt)
	r.sources = append(r.sources, a.Source)
	r.eventIDs = append(r.eventIDs, in.ID)
	r.acceptanceIDs = append(r.acceptanceIDs, a.acceptanceIDs[i])
	r.providers = append(r.providers, a.Provider)
	r.types = append(r.types, in.Type)
	r.apiVersions = append(r.apiVersions, safetext.Storable(in.APIVersion))
	r.occurredAt = append(r.occurredAt, occurredAt)
	r.deliveryIDs = append(r.deliveryIDs, a.deliveryID)
	r.items = append(r.items, safetext.Storable(in.Item))
	r.hashes = append(r.hashes, a.hashes[i])
	r.traceparents = append(r.traceparents, safetext.Storable(a.Traceparent))
	r.queues = append(r.queues, a.queue)
	r.suspects = append(r.suspects, replay.action != "")
	r.retryNumbers = append(r.retryNumbers, a.RetryNumber)
	r.retryReasons = append(r.retryReasons, safetext.Excerpt(a.RetryReason, maxReasonLen))
	r.held = append(r.held, replay.action == ReplayHold)
	r.receivedAt = append(r.receivedAt, time.Time{})
	return len(r.sources) - 1
}

func (r *acceptRows) ref(i int) identity.EventRef {
	return identity.EventRef{Source: r.sources[i], EventID: r.eventIDs[i]}
}

// insertDispatchJobs inserts one job for each event that is new and not held.
func (o *Outbox) insertDispatchJobs(ctx context.Context, tx pgx.Tx, rows *acceptRows) error {
	jobs := make([]riverjob.DispatchJob, 0, len(rows.sources))
	for i, at := range rows.receivedAt {
		if at.IsZero() || rows.held[i] {
			continue
		}
		jobs = append(jobs, riverjob.DispatchJob{
			Event:       rows.ref(i),
			EventType:   rows.types[i],
			ReceivedAt:  at,
			Queue:       rows.queues[i],
			Traceparent: rows.traceparents[i],
		})
	}
	return o.jobs.InsertDispatches(ctx, tx, jobs)
}
