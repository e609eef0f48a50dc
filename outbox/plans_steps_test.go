package outbox

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// The kinds of events that testdata/plans/fill.sql creates. The number of an event modulo turns is
// its kind.
const (
	turnReceived = iota
	turnPending
	turnDone
	turnFailed
	turnOrdered
	turnHeld
	turnWithoutJob
	turnLate
	turns
)

// batch is the number of rows that a step requests together: the smallest plausible number.
const batch = fewRows / turns

// inOrder is the number of consecutive events in one order before the script fill.sql begins the
// next of its 16 orders. Postgres makes the plans while few effects wait in each order, and uses
// the plans when many wait.
const inOrder = 32

// steps runs the statements of the program, on events that earlier calls of steps did not use.
func (b *plannedBundle) steps(t *testing.T) {
	t.Helper()
	b.ran = map[string]cost{}
	pass := b.of.passes
	b.of.passes++
	event := func(turn, i int) identity.EventRef {
		number := pass*fewRows + turns*i + turn
		if turn == turnReceived {
			number += turns // events are counted from 1
		}
		return identity.EventRef{Source: "stripe", EventID: identity.EventID(fmt.Sprintf("evt_%d", number))}
	}
	effect := func(turn, i int) identity.EffectID {
		return identity.EffectID{Scope: identity.ScopeOfRoute("stripe", "everything"), Key: identity.Key(event(turn, i).EventID), Generation: 1}
	}
	b.stepsOfAccepting(t, fmt.Sprintf("new_%d_", pass))
	b.stepsOfDispatching(t, event)
	b.stepsOfPerforming(t, effect)
	b.stepsOfWaiting(t)
	b.stepsOfOrders(t, event, effect)
	b.stepsOfReading(t, event, effect)
}

func (b *plannedBundle) stepsOfAccepting(t *testing.T, prefix string) {
	t.Helper()
	accept := func(ctx context.Context) error {
		return atOnce(batch, func(i int) error {
			d := delivery("stripe", fmt.Sprintf("%s%d", prefix, i))
			d.Body = fmt.Appendf(nil, `{"id":%q}`, d.Events[0].ID)
			d.ContentWindow, d.ReplayGuard = time.Hour, &ReplayGuard{Proof: d.Body}
			_, err := b.Accept(ctx, d)
			return err
		})
	}
	// planned accepts events with a plan, which the statement accept_planned stores.
	planned := func(ctx context.Context) error {
		b.PlanWith(&plannerSpy{configuration: fleet.Configuration{Number: 1, Routes: "routes"}})
		defer b.planner.Store(nil)
		return atOnce(batch, func(i int) error {
			_, err := b.Accept(ctx, delivery("stripe", fmt.Sprintf("%splanned_%d", prefix, i)))
			return err
		})
	}
	// counted passes the gathered duplicates to the writer, without the pause between two writes.
	// It then waits until the events' rows count the given number of duplicates.
	counted := func(ctx context.Context, duplicates int) {
		b.counted.write()
		soon(t, func() bool {
			var noted int
			err := b.of.admin.QueryRow(ctx, `SELECT COALESCE(sum(duplicates), 0) FROM hooklatch.processed_events WHERE starts_with(event_id, $1)`, prefix).Scan(&noted)
			return err == nil && noted == duplicates
		})
	}
	b.step(t, batch, accept)
	b.step(t, batch, planned)
	b.step(t, batch, func(ctx context.Context) error {
		if err := accept(ctx); err != nil {
			return err
		}
		counted(ctx, batch)
		return nil
	})
	repeating := func(duplicates int, parts ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			defer counted(ctx, duplicates)
			return atOnce(batch, func(i int) error {
				d := delivery("stripe")
				d.ContentWindow = time.Hour
				for n, part := range parts {
					id, content, _ := strings.Cut(part, " ")
					d.Events = append(d.Events, Incoming{ID: identity.EventID(fmt.Sprint(prefix, id, i)), Type: "invoice.paid"})
					d.Events[n].Part = fmt.Appendf(nil, `{"id":"%s%s%d"}`, prefix, content, i)
				}
				_, err := b.Accept(ctx, d)
				return err
			})
		}
	}
	b.step(t, batch, repeating(2*batch, "copy "))                                 // this moves a window
	b.step(t, 3*batch, repeating(3*batch, "moved one", "moved two", "moves two")) // the window of content two moves from the second event to the third
}

func (b *plannedBundle) stepsOfDispatching(t *testing.T, event func(turn, i int) identity.EventRef) {
	t.Helper()
	var started [batch]ledger.Effect
	b.step(t, batch, func(ctx context.Context) error {
		return atOnce(batch, func(i int) error {
			e, err := b.Event(ctx, event(turnReceived, i))
			if err != nil {
				return err
			}
			d, err := b.Dispatch(ctx, Dispatch{Event: e, Effects: []ledger.NewEffect{born(e, string(e.EventID))}, SearchValues: []string{"common", string(e.EventID)}})
			if err == nil && len(d.Started) != 1 {
				err = fmt.Errorf("%s did not begin with its first attempt", e.EventID)
			}
			if err == nil {
				started[i] = d.Started[0]
			}
			return err
		})
	})
	b.step(t, batch, func(ctx context.Context) error { // a settlement also ends the job
		return atOnce(batch, func(i int) error {
			_, err := b.Ledger().Settle(ctx, ledger.Settlement{Effect: started[i], Verdict: ledger.VerdictDone + ledger.Verdict(i%2)})
			return err
		})
	})
	b.step(t, 1, func(ctx context.Context) error {
		_, err := b.FailDispatch(ctx, &inbox.Event{EventRef: event(turnWithoutJob, 0), Generation: 1}, fleet.Configuration{}, "no")
		return err
	})
	b.step(t, 2, func(ctx context.Context) error {
		if err := b.Release(ctx, event(turnHeld, 0), ann); err != nil {
			return err
		}
		return b.Drop(ctx, event(turnHeld, 1), ann)
	})
}

func (b *plannedBundle) stepsOfPerforming(t *testing.T, effect func(turn, i int) identity.EffectID) {
	t.Helper()
	var answers [batch]ledger.Claimed
	claim := func(turn int, lease time.Duration) {
		b.step(t, batch, func(ctx context.Context) error {
			return atOnce(batch, func(i int) (err error) {
				c := claimOf(effect(turn, i))
				c.Lease = lease
				answers[i], err = b.Ledger().Claim(ctx, c)
				return err
			})
		})
	}
	perform := func(turn int, otherwise ledger.ClaimStatus, granted int) {
		claim(turn, lease)
		var claimed []ledger.Effect
		for _, a := range answers {
			if a.Status == ledger.ClaimGranted {
				claimed = append(claimed, a.Effect)
			} else {
				require.Equal(t, otherwise, a.Status, a.Effect.EffectID)
			}
		}
		require.Len(t, claimed, granted)
		if turn == turnLate {
			b.step(t, 1, func(ctx context.Context) error {
				_, err := b.Ledger().FixRequest(ctx, claimed[0], ledger.Request{Method: "POST", Body: []byte(`{}`)})
				return err
			})
		}
		settle := func(ctx context.Context) error {
			return atOnce(len(claimed), func(i int) error {
				_, err := b.Ledger().Settle(ctx, ledger.Settlement{Effect: claimed[i], Verdict: ledger.VerdictDone})
				return err
			})
		}
		b.step(t, len(claimed), settle)
		b.step(t, len(claimed), settle) // a repeated settlement finds the effects settled
	}
	claim(turnPending, time.Microsecond) // these attempts are lost
	perform(turnPending, "", batch)
	perform(turnLate, "", batch)
	perform(turnOrdered, ledger.ClaimBlocked, fewRows/inOrder)
}

// stepsOfWaiting runs a probe's search for the oldest due effect, the changes of a breaker, and
// Reconcile's search for work without a job.
func (b *plannedBundle) stepsOfWaiting(t *testing.T) {
	t.Helper()
	for _, destination := range []string{"app", "app1"} { // app1 has no effects
		b.step(t, 1, func(ctx context.Context) error {
			_, found, err := b.Ledger().OldestDue(ctx, destination)
			if err == nil && found != (destination == "app") {
				err = fmt.Errorf("due of %s: %t", destination, found)
			}
			return err
		})
	}
	b.step(t, 1, func(ctx context.Context) error {
		if err := failure(b.Fleet().Trip(ctx, "app2", "no", 0)); err != nil {
			return err
		}
		if begun, err := b.Fleet().BeginProbe(ctx, "app2", time.Minute); err != nil || !begun {
			return fmt.Errorf("probe begun: %t, %w", begun, err)
		}
		if err := b.Fleet().ProbeFailed(ctx, "app2", "no", 0); err != nil {
			return err
		}
		return failure(b.Fleet().CloseBreaker(ctx, "app2"))
	})
	b.step(t, reconcileLook, func(ctx context.Context) error {
		_, err := b.reconcile(ctx, 0)
		return err
	})
}

func (b *plannedBundle) stepsOfOrders(t *testing.T, event func(turn, i int) identity.EventRef, effect func(turn, i int) identity.EffectID) {
	t.Helper()
	b.step(t, 1, func(ctx context.Context) error {
		_, err := b.Replay(ctx, event(turnFailed, 0), ann, inbox.ReplayOptions{})
		return err
	})
	for i, order := range []func(context.Context, string, ledger.Operator) error{b.Ledger().Retry, b.Ledger().Park, b.Ledger().Cancel} {
		key := effect(turnFailed, 1).IdempotencyKey() // retried, parked and cancelled
		b.step(t, 1, func(ctx context.Context) error {
			if err := order(ctx, key, ann); err != nil {
				return fmt.Errorf("order %d: %w", i, err)
			}
			return nil
		})
	}
}

func (b *plannedBundle) stepsOfReading(t *testing.T, event func(turn, i int) identity.EventRef, effect func(turn, i int) identity.EffectID) {
	t.Helper()
	id := effect(turnDone, 0)
	for _, read := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := b.Ledger().Effect(ctx, id.IdempotencyKey()); return err },
		func(ctx context.Context) error { _, err := b.Ledger().Attempts(ctx, id); return err },
		func(ctx context.Context) error { _, err := b.Ledger().Transitions(ctx, id); return err },
		func(ctx context.Context) error {
			_, err := b.Ledger().EffectsOfEvent(ctx, event(turnDone, 0))
			return err
		},
		func(ctx context.Context) error { _, err := b.EventReplays(ctx, event(turnDone, 0)); return err },
		func(ctx context.Context) error { _, err := b.Newest(ctx); return err },
	} {
		b.step(t, 1, read)
	}
	const page = 20
	for _, targets := range [][]string{{event(turnDone, 0).String(), event(turnHeld, 0).String(), id.IdempotencyKey()}, {}} {
		b.step(t, page, func(ctx context.Context) error {
			actions, err := b.Ledger().OperatorLog(ctx, time.Time{}, page, targets...)
			if len(targets) > 0 && err == nil && len(actions) < len(targets)-1 {
				err = fmt.Errorf("%d actions", len(actions))
			}
			return err
		})
	}
	b.stepsOfBrowsing(t, page)
	for _, o := range []runs.Order{
		{Action: ledger.ActionReplayEvent}, {Action: ledger.ActionReplayEvent, Events: find.Events{Type: "rare"}}, {Action: ledger.ActionReleaseEvent},
		{Action: ledger.ActionCancelEffect, Effects: find.Effects{States: ledger.StatesFor(ledger.ActionCancelEffect)}},
		{Action: ledger.ActionRetryEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectFailed}, Type: "rare"}},
	} {
		b.step(t, b.of.rows, func(ctx context.Context) error { // the preview reads every row
			_, err := b.Runs().Preview(ctx, o, runs.Bite{For: time.Nanosecond})
			return err
		})
	}
}

// stepsOfBrowsing searches for values that occur in all rows, in some rows and in no row. Most
// searches may read a limited number of pages for each row that they look at.
func (b *plannedBundle) stepsOfBrowsing(t *testing.T, page int) {
	t.Helper()
	var from time.Time // time of the first event that fill creates
	require.NoError(t, b.of.admin.QueryRow(t.Context(),
		`SELECT received_at FROM hooklatch.processed_events WHERE source = 'stripe' AND event_id = 'evt_1'`).Scan(&from))
	until := from.Add(time.Second)
	finder := b.Finder().With(func(context.Context, string) (find.Match, error) {
		return find.Match{Text: "canary", By: func(*inbox.Event) (bool, error) { return false, nil }}, nil
	})
	then, never := find.Span{Since: from, Until: until}, find.Content{When: "never"}
	for _, f := range []find.Events{
		{}, {Source: "stripe"}, {State: inbox.Received}, {State: inbox.Failed}, {Type: "none"}, {Span: then}, {Content: never},
	} {
		b.walk(t, func(ctx context.Context) (int, error) {
			p, err := finder.Events(ctx, f, find.Beginning, page)
			return max(p.Looked, 1), err
		})
		b.walk(t, func(ctx context.Context) (int, error) {
			p, err := finder.EventsOnward(ctx, f, find.Beginning, page)
			return max(p.Looked, 1), err
		})
	}
	for _, f := range []find.Effects{{}, {Destination: "app"}, {States: []ledger.EffectState{ledger.EffectDone}}, {Type: "none"}, {Span: then}} {
		b.walk(t, func(ctx context.Context) (int, error) {
			p, err := finder.Effects(ctx, f, find.Beginning, page)
			return max(p.Looked, 1), err
		})
	}
	b.step(t, 1, func(ctx context.Context) error {
		_, err := finder.Events(ctx, find.Events{ID: "evt_1"}, find.Beginning, page)
		return err
	})
	for value, most := range map[string]int{"common": page, "evt_1": 1, "none": 0} {
		b.step(t, 2*page, func(ctx context.Context) error { // the search reads page rows of each source
			events, err := finder.EventsOfValue(ctx, value, []identity.Source{"stripe", "github"}, page)
			if err == nil && len(events) != most {
				err = fmt.Errorf("%d events with the value %s", len(events), value)
			}
			return err
		})
	}
	e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"})
	require.NoError(t, err)
	b.step(t, 1, func(ctx context.Context) error {
		_, err := finder.EventsOfDelivery(ctx, e.DeliveryID, page)
		return err
	})
}
