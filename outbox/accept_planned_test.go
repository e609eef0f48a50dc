package outbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// plannerSpy is a Planner with one effect for each event. It records the events that it was asked
// to plan, and how each plan ended.
type plannerSpy struct {
	busy, none    bool
	claims        bool
	bad           bool // its plans cannot be stored
	slow          bool // planning takes until its context ends
	configuration fleet.Configuration

	mu    sync.Mutex
	saw   []*inbox.Event
	ended []planEnd
}

type planEnd struct {
	plan Dispatch
	Dispatched
	err error
}

func (s *plannerSpy) Free() bool { return !s.busy }

func (s *plannerSpy) Plan(ctx context.Context, e *inbox.Event) *Planned {
	s.mu.Lock()
	defer s.mu.Unlock()
	saw := *e
	s.saw = append(s.saw, &saw)
	if s.slow {
		<-ctx.Done()
		return nil
	}
	if s.none {
		return nil
	}
	effect := planned(e, string(e.EventID))
	if s.claims {
		effect = born(e, string(e.EventID))
	}
	if s.bad {
		effect.Destination = "\x00"
	}
	plan := Dispatch{Event: e, Effects: []ledger.NewEffect{effect}, ConfigHash: "hash", Configuration: s.configuration, SearchValues: []string{"jane"}}
	return &Planned{Dispatch: plan, End: func(d Dispatched, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = append(s.ended, planEnd{plan, d, err})
	}}
}

// ends requires that n plans have ended, and returns how each of them ended.
func (s *plannerSpy) ends(t *testing.T, n int) []planEnd {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.ended, n)
	return s.ended
}

const (
	dispatchedEvents = `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'dispatched' AND processed_at IS NOT NULL AND config_hash = 'hash'`
	receivedEvents   = `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received' AND processed_at IS NULL AND config_hash = ''`
	dispatchJobs     = `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'available'`
	linkedEffects    = `
		SELECT count(*)
		FROM hooklatch.effects AS e
		JOIN hooklatch.processed_events AS p USING (source, event_id, accept_seq)
		JOIN hooklatch.links AS l ON l.accept_seq = p.accept_seq AND NOT l.suppressed
		JOIN hooklatch.search_values AS v ON v.accept_seq = p.accept_seq AND v.received_at = p.received_at
		JOIN hooklatch.deliveries AS d ON d.delivery_id = p.delivery_id AND d.received_at = p.received_at`
)

// An event whose plan is made in T1 is stored with its effects, without a job. All other events get
// a job, and no part of their plans is stored.
func TestEventsArePlannedInT1(t *testing.T) {
	t.Parallel()
	one := delivery("stripe", "evt_1")
	fetched, handled, large := one, one, one
	fetched.Origin = identity.Backfill
	handled.Handlers = true
	large.Body = make([]byte, maxPlannedBody+1)
	pausedQueue := func(name string) string {
		return `INSERT INTO hooklatch.river_queue (name, paused_at, updated_at) VALUES ('` + name + `', now(), now())`
	}
	for _, c := range []struct {
		what     string
		planner  *plannerSpy
		before   string // statements that run before the delivery arrives
		delivery Delivery
		planned  int // number of events stored with their plans
	}{
		{what: "one event", delivery: one, planned: 1},
		{what: "several events", delivery: delivery("stripe", "evt_2", "evt_1", "evt_3"), planned: 3},
		{what: "with first attempts", planner: &plannerSpy{claims: true}, delivery: delivery("stripe", "evt_1", "evt_2"), planned: 2},
		{what: "another paused queue", before: pausedQueue("upkeep"), delivery: one, planned: 1},
		{what: "paused queue", before: pausedQueue("dispatch"), delivery: one},
		{what: "busy process", planner: &plannerSpy{busy: true}, delivery: one},
		{what: "no plan", planner: &plannerSpy{none: true}, delivery: one},
		{what: "plan that is refused", planner: &plannerSpy{bad: true}, delivery: one},
		{what: "fetched event", delivery: fetched},
		{what: "event for handlers", delivery: handled},
		{what: "large delivery", delivery: large},
		{what: "failure", delivery: delivery("stripe", "evt_1", "evt_2"), before: `
			CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'data_exception'; END $$;
			CREATE TRIGGER fail BEFORE INSERT ON hooklatch.effects FOR EACH ROW EXECUTE FUNCTION fail();`},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if c.planner == nil {
				c.planner = new(plannerSpy)
			}
			_, err := b.pool.Exec(t.Context(), c.before)
			require.NoError(t, err)
			b.PlanWith(c.planner)
			a, err := b.Accept(t.Context(), c.delivery)
			require.NoError(t, err)
			n := len(c.delivery.Events)
			require.Equal(t, n, a.New())
			require.Equal(t, c.planned, b.count(t, dispatchedEvents))
			require.Equal(t, c.planned, b.count(t, linkedEffects))
			require.Equal(t, c.planned, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
			require.Equal(t, c.planned, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))
			require.Equal(t, n-c.planned, b.count(t, receivedEvents))
			require.Equal(t, n-c.planned, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch'`))
			for _, end := range c.planner.ended {
				require.NoError(t, end.err)
				require.Equal(t, c.planned > 0, end.Fenced)
				require.Len(t, end.Created, c.planned/n)
				require.Equal(t, c.planner.claims, len(end.Started) > 0)
			}
			if c.planned > 0 {
				require.Len(t, c.planner.ended, n)
			}

			// Another process plans the events again. They are duplicates, so their plans are not stored.
			other, spy := onPool(t, b.pool), &plannerSpy{none: c.planner.none, bad: c.planner.bad}
			other.PlanWith(spy)
			again, err := other.Accept(t.Context(), c.delivery)
			require.NoError(t, err)
			require.Equal(t, n, again.Duplicates())
			require.Equal(t, c.planned, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
			for _, end := range spy.ended {
				require.Equal(t, Dispatched{Left: true}, end.Dispatched)
			}
		})
	}
}

// The planner gets an event with the values that later readers get.
func TestAPlanSeesTheStoredEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spy := new(plannerSpy)
	b.PlanWith(spy)
	d := delivery("stripe", "evt_1", "evt_2")
	d.Body = []byte(`[{"id":"evt_1"},{"id":"evt_2"}]`)
	d.RetryNumber, d.RetryReason, d.Traceparent = 2, "timeout", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	d.Events[0].OccurredAt, d.Events[0].APIVersion, d.Events[0].Item = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600)), "2026-01", "/0"
	d.Events[1].Item = "/1"
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	clear(d.Body) // the caller reuses the buffer, while first attempts may read the event's body
	require.Len(t, spy.saw, 2)
	for _, saw := range spy.saw {
		e, err := b.Event(t.Context(), saw.EventRef)
		require.NoError(t, err)
		require.True(t, e.ReceivedAt.Equal(saw.ReceivedAt))
		require.True(t, e.OccurredAt.Equal(saw.OccurredAt))
		require.Equal(t, e.Payload(), saw.Payload())
		require.Equal(t, inbox.Dispatched, e.Outcome)
		e.ReceivedAt, e.OccurredAt, e.AcceptSeq, e.Outcome, e.ProcessedAt, e.ConfigHash = saw.ReceivedAt, saw.OccurredAt, 0, inbox.Received, time.Time{}, ""
		require.Equal(t, e, saw)
	}
}

// A process with an older configuration stores an event, and leaves its dispatch to a process with
// a newer configuration.
func TestAPlanOfAnOlderConfigurationIsNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "one", Hash: "old", Routes: "old", Sources: []string{"*"}})
	require.NoError(t, err)
	newest, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "two", Hash: "next", Routes: "next", Sources: []string{"stripe"}})
	require.NoError(t, err)
	spy := &plannerSpy{configuration: old}
	b.PlanWith(spy)
	for _, source := range []string{"stripe", "github"} {
		_, err := b.Accept(t.Context(), delivery(source, "evt_1"))
		require.NoError(t, err)
	}
	ends := spy.ends(t, 2)
	require.Equal(t, Dispatched{Left: true}, ends[0].Dispatched)
	require.True(t, ends[1].Fenced, "the newer configuration does not have the source")
	require.Equal(t, 1, b.count(t, receivedEvents))
	require.Equal(t, 1, b.count(t, dispatchJobs))
	spy.configuration = newest
	_, err = b.Accept(t.Context(), delivery("stripe", "evt_2"))
	require.NoError(t, err)
	require.True(t, spy.ends(t, 3)[2].Fenced)
}

// Events that cannot be planned in time get jobs. A delivery of several such events waits for the
// time limit only once.
func TestPlansTakeLittleOfT1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.planTimeout = planTimeout
	spy := &plannerSpy{slow: true}
	b.PlanWith(spy)
	_, err := b.Accept(t.Context(), delivery("stripe", "evt_1", "evt_2", "evt_3"))
	require.NoError(t, err)
	require.Len(t, spy.saw, 1)
	require.Equal(t, 3, b.count(t, dispatchJobs))
}

// A held event waits for an operator, so it is not planned.
func TestHeldEventsAreNotPlanned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spy := new(plannerSpy)
	b.PlanWith(spy)
	ref := b.hold(t, "fresh")
	require.Len(t, spy.saw, 1)
	require.NotEqual(t, ref, spy.saw[0].EventRef)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// If the outcome of a COMMIT is unknown, the next try finds the stored rows, or stores the same
// plan. The planner then requests the claims again, because they may be committed.
func TestPlansSurviveALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		for _, times := range []int{1, 3} {
			t.Run(string(mode), func(t *testing.T) {
				t.Parallel()
				b, sound, f := onFaultyPool(t, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
				spy := &plannerSpy{claims: true}
				b.PlanWith(spy)
				f.Arm(mode, times)
				a, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
				require.NoError(t, err)
				require.Equal(t, 1, a.New())
				require.Equal(t, 1, sound.count(t, dispatchedEvents))
				require.Equal(t, 1, sound.count(t, linkedEffects))
				require.Zero(t, sound.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch'`))
				require.Len(t, spy.saw, 1, "every try uses the same plan with the same claims")
				end := spy.ends(t, 1)[0]
				require.False(t, end.Left)
				require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.processed_events JOIN hooklatch.deliveries USING (delivery_id, received_at) WHERE received_at = $1`, end.plan.Event.ReceivedAt))
				require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.effects WHERE claim_id = $1`, end.plan.Effects[0].Claim.ClaimID))
			})
		}
	}
}

// A plan of a delivery that was not stored ends with the error of the delivery.
func TestPlansEndWithTheirDelivery(t *testing.T) {
	t.Parallel()
	b, sound, f := onFaultyPool(t, func(opts *Options) { opts.AcceptTimeout = 5 * time.Second })
	spy := &plannerSpy{claims: true}
	b.PlanWith(spy)
	f.Arm(fault.LoseRequest, 1_000_000)
	_, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.ErrorIs(t, err, commit.ErrUnavailable)
	require.NoError(t, b.Stop(t.Context()))
	end := spy.ends(t, 1)[0]
	require.ErrorIs(t, end.err, commit.ErrUnavailable)
	require.Equal(t, Dispatched{}, end.Dispatched)
	require.Zero(t, sound.count(t, `SELECT count(*) FROM hooklatch.effects`))
	require.False(t, errors.Is(end.err, commit.ErrBusy))
}
