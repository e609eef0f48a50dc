package outbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// arrival is a Delivery that passes through T1. Its ids are generated before the first try, so that
// a retry after a lost COMMIT response recognises its own rows.
type arrival struct {
	Delivery

	deliveryID    uuid.UUID
	acceptanceIDs []uuid.UUID             // one for each event
	hashes        [][]byte                // one for each event: SHA-256 of its part of the body
	headers       []byte                  // as JSON
	queue         string                  // queue of the dispatch jobs
	jobs          []riverjob.DispatchText // one for each event
	plans         *arrivalPlans           // nil: the jobs of the events create all plans
}

func (o *Outbox) newArrival(d Delivery) (arrival, error) {
	d.Origin = cmp.Or(d.Origin, identity.Webhook)
	a := arrival{Delivery: d, queue: riverjob.QueueDispatch}
	if d.Handlers {
		a.queue = riverjob.HandlersQueue(d.Source)
	}
	if !riverjob.IsQueueName(a.queue) {
		return arrival{}, fmt.Errorf("%q is not the name of a queue", a.queue)
	}
	for _, in := range d.Events {
		if err := in.validate(); err != nil {
			return arrival{}, err
		}
	}
	var err error
	if a.headers, err = column.Headers(d.Headers); err != nil {
		return arrival{}, fmt.Errorf("encode headers: %w", err)
	}
	if a.deliveryID, err = uuid.NewV7(); err != nil {
		return arrival{}, fmt.Errorf("make delivery id: %w", err)
	}
	a.ContentType = safetext.Storable(d.ContentType)
	a.acceptanceIDs = make([]uuid.UUID, len(d.Events))
	a.hashes = make([][]byte, len(d.Events))
	a.jobs = make([]riverjob.DispatchText, len(d.Events))
	a.Traceparent = safetext.Storable(d.Traceparent)
	for i, in := range d.Events {
		if a.acceptanceIDs[i], err = uuid.NewV7(); err != nil {
			return arrival{}, fmt.Errorf("make acceptance id: %w", err)
		}
		sum := sha256.Sum256(in.part(d.Body))
		a.hashes[i] = sum[:]
		a.jobs[i] = o.jobs.Describe(riverjob.DispatchJob{
			Event: identity.EventRef{Source: d.Source, EventID: in.ID}, EventType: in.Type, Traceparent: a.Traceparent,
		})
	}
	return a, nil
}

// weigh returns what a delivery adds to a batch: its number of events, and the bytes of its body
// and headers. A delivery with content windows of the past gets a batch of its own, because events of
// one batch with equal contents are duplicates.
func (a arrival) weigh() (items, size int) {
	if a.fromPast() {
		return math.MaxInt32, 0
	}
	return len(a.Events), len(a.Body) + len(a.headers)
}

// Accept commits the delivery: dedup rows, payload, and one dispatch job for each new event that is
// neither held nor planned. All of it is committed in one transaction (T1), which may also commit
// other deliveries. When Accept returns without an error, everything is committed (I1). If ctx ends
// first, the delivery may still be committed, but Accept does not return the outcome. Accept
// recognises duplicates of recently committed events without a query.
//
// Errors: ErrBusy, ErrUnavailable, ErrClosed, *InvalidEventError. A delivery without events is not
// stored.
func (o *Outbox) Accept(ctx context.Context, d Delivery) (Acceptance, error) {
	if len(d.Events) == 0 {
		d.release()
		return Acceptance{}, nil
	}
	if known, ok := o.knownAgain(ctx, d); ok {
		d.release()
		o.retries.add(d)
		o.noteDuplicates(d.Origin, known)
		return known, nil
	}
	a, err := o.newArrival(d)
	if err != nil {
		d.release()
		return Acceptance{}, fmt.Errorf("accept events: %w", err)
	}
	life := o.recent.Life()
	a.plans = o.plansFor(a)
	acceptance, err := o.accepts.Submit(ctx, a)
	if err != nil {
		o.noteRefusal(err)
		return Acceptance{}, fmt.Errorf("accept events: %w", err)
	}
	o.remember(life, d, acceptance)
	o.retries.add(d)
	o.noteDuplicates(d.Origin, acceptance)
	return acceptance, nil
}

// AcceptTx is like Accept, but runs inside a READ COMMITTED transaction of the caller. It lets the
// caller commit the dedup rows together with its own writes. AcceptTx plans no events, and counts
// neither duplicates nor the provider's retries. On an error the caller must roll back.
func (o *Outbox) AcceptTx(ctx context.Context, tx pgx.Tx, d Delivery) (Acceptance, error) {
	defer d.release()
	if len(d.Events) == 0 {
		return Acceptance{}, nil
	}
	a, err := o.newArrival(d)
	if err != nil {
		return Acceptance{}, fmt.Errorf("accept events: %w", err)
	}
	acceptances, err := o.acceptInside(ctx, tx, a)
	if err != nil {
		return Acceptance{}, fmt.Errorf("accept events: %w", err)
	}
	return acceptances[0], nil
}

// maxTriesInside is the maximum number of tries of acceptInside.
const maxTriesInside = 5

// acceptInside is like acceptBatch, but for one arrival in a caller's transaction, which cannot be
// retried as a whole. With a content window, a concurrent transaction may force a retry, so each
// try gets a savepoint.
func (o *Outbox) acceptInside(ctx context.Context, tx pgx.Tx, a arrival) (acceptances []Acceptance, err error) {
	if a.ContentWindow <= 0 {
		return o.acceptBatch(ctx, tx, []arrival{a})
	}
	for range maxTriesInside {
		err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
			acceptances, err = o.acceptBatch(ctx, savepoint, []arrival{a})
			return err
		})
		if !errors.Is(err, commit.ErrTryAgain) {
			break
		}
	}
	return acceptances, err
}

// acceptBatch runs T1 for all deliveries of a batch. If the batch contains a key twice, only the
// first event is stored. The second event is a duplicate of the first. If T1 is retried with fewer
// deliveries, the first of their events with the key is stored.
func (o *Outbox) acceptBatch(ctx context.Context, tx pgx.Tx, batch []arrival) ([]Acceptance, error) {
	guards, err := o.guard(ctx, tx, batch)
	if err != nil {
		return nil, err
	}
	rows := &acceptRows{events: make([]eventRow, 0, len(batch))}
	first := make(map[identity.EventRef]int) // index of the row with the key
	shut := make(map[identity.EventRef]bool) // keys that a guard excludes; they may be stored already
	for i, a := range batch {
		for j := range a.Events {
			ref := identity.EventRef{Source: a.Source, EventID: a.Events[j].ID}
			if _, twice := first[ref]; twice {
				continue
			}
			action := guards.replayed[i].action
			if action == ReplayRefuse || !guards.admit(batch, eventAt{i, j}, action == ReplayHold) {
				shut[ref] = true
				continue
			}
			first[ref] = rows.add(a, eventAt{i, j}, guards.replayed[i])
		}
	}
	if err := o.moveWindows(ctx, tx, batch, guards.contentWindows); err != nil {
		return nil, err
	}
	if err := o.planEvents(ctx, tx, rows, batch); err != nil {
		return nil, err
	}
	if err := o.insertEvents(ctx, tx, rows, batch); err != nil {
		return nil, err
	}
	if err := guards.requireOpeners(batch, rows, first); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("accept.events_inserted"); err != nil {
		return nil, fmt.Errorf("%w: %w", commit.ErrTryAgain, err)
	}
	known, err := o.knownEvents(ctx, tx, rows, first, shut, guards.known)
	if err != nil {
		return nil, err
	}
	if err := o.createPlanned(ctx, tx, rows, batch, known); err != nil {
		return nil, err
	}
	if err := o.tellOfJobs(ctx, tx, rows); err != nil {
		return nil, err
	}
	acceptances := make([]Acceptance, len(batch))
	for i, a := range batch {
		acceptances[i] = a.acceptance(i, known, guards)
	}
	if err := o.noteCopies(ctx, tx, batch, acceptances); err != nil {
		return nil, err
	}
	return acceptances, nil
}

type knownEvents struct{ Events []identity.EventRef }

// knownEvent is the stored acceptance of a key.
type knownEvent struct {
	acceptanceID uuid.UUID
	receivedAt   time.Time
	hash         []byte // empty for imported keys
}

// acceptance returns the result for arrival i of the batch.
func (a arrival) acceptance(i int, known map[identity.EventRef]knownEvent, guards guards) Acceptance {
	out := Acceptance{DeliveryID: a.deliveryID, Events: make([]AcceptedEvent, len(a.Events))}
	for j, in := range a.Events {
		replay := guards.replayed[i]
		e := AcceptedEvent{
			EventRef: identity.EventRef{Source: a.Source, EventID: in.ID}, Type: in.Type,
			ReplaySuspect: replay.action != "", ContentDiffers: replay.differs,
		}
		stands, found := known[e.EventRef]
		repeats, isRepeat := guards.repeats[eventAt{i, j}]
		switch {
		case replay.differs && replay.action == ReplayRefuse:
			e.Status, stands = Refused, knownEvent{}
		case found && stands.acceptanceID == a.acceptanceIDs[j] && replay.action == ReplayHold:
			e.Status = Held
		case found && stands.acceptanceID == a.acceptanceIDs[j]:
			e.Status = Accepted
		case found:
			e.Status = Duplicate
			e.ReplaySuspect, e.ContentDiffers = false, false // not a replay: the provider repeats the event under the same id
		case isRepeat:
			e.Status, e.SameAs = Duplicate, repeats.id
			stands = knownEvent{acceptanceID: repeats.acceptanceID, receivedAt: repeats.receivedAt, hash: a.hashes[j]}
			if stands.receivedAt.IsZero() {
				stands.receivedAt = known[identity.EventRef{Source: a.Source, EventID: repeats.id}].receivedAt
			}
		default:
			e.Status = Refused
		}
		e.AcceptanceID, e.FirstReceivedAt, e.hash = stands.acceptanceID, stands.receivedAt, stands.hash
		e.BodyDiffers = e.Status != Refused && len(stands.hash) > 0 && !bytes.Equal(stands.hash, a.hashes[j])
		out.Events[j] = e
	}
	return out
}

// insertEvents stores the new events with their jobs, and sets rows.inserted.
func (o *Outbox) insertEvents(ctx context.Context, tx pgx.Tx, rows *acceptRows, batch []arrival) error {
	if len(rows.events) == 0 {
		return nil
	}
	result, err := o.storing(rows, batch).Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	inserted := make(map[identity.EventRef]insertedEvent, len(rows.events))
	var ref identity.EventRef
	var e insertedEvent
	if _, err := pgx.ForEachRow(result, []any{&ref.Source, &ref.EventID, &e.receivedAt, &e.acceptSeq, &e.planned}, func() error {
		inserted[ref] = e
		return nil
	}); err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	rows.inserted = make([]insertedEvent, len(rows.events))
	for i, e := range rows.events {
		rows.inserted[i] = inserted[e.EventRef]
	}
	return nil
}

// knownEvents returns the stored acceptance of every key in the batch. New events have their own
// acceptance. Other keys have the acceptance of an earlier delivery or of an earlier try of this
// transaction. Keys in before were looked up earlier. A key in shut that is not stored is missing
// from the result.
func (o *Outbox) knownEvents(ctx context.Context, tx pgx.Tx, rows *acceptRows, first map[identity.EventRef]int, shut map[identity.EventRef]bool, before map[identity.EventRef]knownEvent) (map[identity.EventRef]knownEvent, error) {
	known := make(map[identity.EventRef]knownEvent, len(first)+len(before))
	maps.Copy(known, before)
	for ref := range before {
		delete(shut, ref)
	}
	for ref, i := range first {
		if rows.inserted[i].receivedAt.IsZero() {
			shut[ref] = true
			continue
		}
		known[ref] = knownEvent{acceptanceID: rows.events[i].AcceptanceID, receivedAt: rows.inserted[i].receivedAt, hash: rows.events[i].PayloadHash}
	}
	if err := o.lookUpEvents(ctx, tx, shut, known); err != nil {
		return nil, err
	}
	for ref := range first {
		if _, found := known[ref]; !found {
			// Retention deleted the row between the two statements: the event is new after all.
			return nil, fmt.Errorf("look up known events: %w", commit.ErrTryAgain)
		}
	}
	return known, nil
}

// lookUpEvents adds the stored events among refs to known.
func (o *Outbox) lookUpEvents(ctx context.Context, tx pgx.Tx, refs map[identity.EventRef]bool, known map[identity.EventRef]knownEvent) error {
	if len(refs) == 0 {
		return nil
	}
	result, err := o.sql.KnownEvents.With(knownEvents{Events: slices.Collect(maps.Keys(refs))}).Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("look up known events: %w", err)
	}
	var ref identity.EventRef
	var k knownEvent
	if _, err := pgx.ForEachRow(result, []any{&ref.Source, &ref.EventID, &k.acceptanceID, &k.receivedAt, &k.hash}, func() error {
		known[ref] = k
		k.hash = nil // the scan of the next row must allocate new bytes
		return nil
	}); err != nil {
		return fmt.Errorf("look up known events: %w", err)
	}
	return nil
}
