package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep/witness"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	verbs "github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

const (
	desk      = "desk"      // the destination that is paused and resumed
	gone      = "gone-"     // prefix of destinations that are created and retired
	replayed  = "replayed"  // the source whose events are replayed
	handled   = "handled"   // the source whose events are erased and redacted
	elsewhere = "elsewhere" // the source whose keys are imported
	who       = "actor"

	// pace is the pause after a round of actions.
	pace = 20 * time.Millisecond
)

// actor performs operator actions.
type actor struct {
	pool       *pgxpool.Pool
	box        *outbox.Outbox
	keeper     *quarantine.Keeper
	quarantine *quarantine.Quarantine
	runs       *runs.Runs
	alerts     *alarm.Book
	logins     *signin.Logins
	witness    *witness.Witness
}

// act performs one round of actions after another until ctx is done.
func (a *actor) act(ctx context.Context) error {
	for round := 0; ctx.Err() == nil; round++ {
		for _, step := range []func(context.Context, int) error{
			a.effects, a.sendTest, a.retire, a.held, a.replay, a.erase, a.senderKey, a.refusal, a.retry, a.importKeys, a.repair, a.many, a.mute, a.signOut, a.check,
		} {
			if err := step(ctx, round); err != nil && ctx.Err() == nil {
				return err
			}
		}
		_ = retry.Wait(ctx, pace) // the loop checks ctx
	}
	return nil
}

// check checks whether deliveries can be stored, as `hooklatch check` does. A negative result is
// not an error.
func (a *actor) check(ctx context.Context, _ int) error {
	_ = a.box.CanStore(ctx)
	return nil
}

// settleDown completes the unfinished work of processes that died. It resumes the destination desk,
// reports a restore, and retires the destinations that the processes did not retire.
func (a *actor) settleDown(ctx context.Context) error {
	if err := a.order(ctx, history.Order{Action: "resume", Destination: desk}, func(by ledger.Operator) error {
		return a.box.Fleet().SetPaused(ctx, desk, false, by)
	}); err != nil {
		return err
	}
	if err := a.speak(ctx); err != nil {
		return err
	}
	names, err := texts(ctx, a.pool, `SELECT destination FROM hooklatch.effects WHERE starts_with(destination, $1) AND state IN ('pending', 'started', 'in_doubt')
		UNION SELECT name FROM hooklatch.destinations WHERE starts_with(name, $1)`, gone)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := a.retireNamed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// retireNamed retires a destination. This begins a bulk run that parks the effects waiting for the
// destination.
func (a *actor) retireNamed(ctx context.Context, name string) error {
	return a.order(ctx, history.Order{Action: "park"}, func(ledger.Operator) error {
		return a.order(ctx, history.Order{Action: "retire", Destination: name}, func(by ledger.Operator) error {
			_, err := a.box.Fleet().Retire(ctx, name, by)
			return err
		})
	})
}

// effects enqueues an effect while its destination is paused. It then resends, parks and retries
// the effect. In two of three rounds, it also cancels and erases the effect.
func (a *actor) effects(ctx context.Context, round int) error {
	pause := func(paused bool, action string) error {
		return a.order(ctx, history.Order{Action: action, Destination: desk}, func(by ledger.Operator) error {
			return a.box.Fleet().SetPaused(ctx, desk, paused, by)
		})
	}
	if err := pause(true, "pause"); err != nil {
		return err
	}
	id, err := a.enqueue(ctx, desk)
	if err != nil {
		return err
	}
	if err := a.resend(ctx, id); err != nil {
		return err
	}
	key := id.IdempotencyKey()
	steps := []struct {
		action string
		do     func(context.Context, string, ledger.Operator) error
	}{{"park", a.box.Ledger().Park}, {"retry", a.box.Ledger().Retry}, {"cancel", a.box.Ledger().Cancel}}
	if round%3 == 0 {
		steps = steps[:2] // the effect is sent, not cancelled
	}
	for _, step := range steps {
		if err := a.order(ctx, history.Order{Action: step.action, Key: key}, func(by ledger.Operator) error { return step.do(ctx, key, by) }); err != nil {
			return err
		}
	}
	if round%3 != 0 {
		if err := a.order(ctx, history.Order{Action: "erase", Key: key}, func(by ledger.Operator) error {
			_, err := a.box.Erasure().Effect(ctx, key, by, erasure.Order{})
			return err
		}); err != nil {
			return err
		}
	}
	return pause(false, "resume")
}

// resend resends an effect that the actor enqueued for the destination desk. The history records
// the new effect like an enqueued one.
func (a *actor) resend(ctx context.Context, id identity.EffectID) error {
	key := id.IdempotencyKey()
	return a.order(ctx, history.Order{Action: "resend", Key: key}, func(by ledger.Operator) error {
		by.RequestID = uuid.NewString()
		told := history.Record{Who: who, Op: history.OpEnqueue, Enqueue: &history.Enqueue{
			Destination: desk, Key: by.RequestID, Hash: hashOf(bodyOf(string(id.Key))), Via: "go", Resends: key,
		}}
		var refused error
		err := a.witness.Watch(ctx, told, func() (history.Kind, string) {
			_, refused = a.box.Ledger().Resend(ctx, key, ledger.Resend{}, by)
			return outcome(refused)
		})
		return errors.Join(err, refused)
	})
}

// sendTest records that an operator sends a test event, as the console does. It sends no event,
// because gateways accept test events like any others.
func (a *actor) sendTest(ctx context.Context, _ int) error {
	return a.order(ctx, history.Order{Action: "send", Source: replayed}, func(by ledger.Operator) error {
		what := ledger.Instruction{Action: verbs.ActionSendEvent, Target: replayed}
		return a.box.Ledger().Act(ctx, by, what, func(context.Context, pgx.Tx) (ledger.Consequence, error) {
			return ledger.Consequence{Affected: 1}, nil
		})
	})
}

// erase erases an event's content, and redacts a field in the events of a source. The redaction
// changes no body, because no event has the field.
func (a *actor) erase(ctx context.Context, _ int) error {
	_, err := a.box.Erasure().Redact(ctx, []erasure.Redaction{{Source: handled, Pointers: []string{"/nowhere"}, After: 2 * time.Second}})
	if err != nil && !errors.Is(err, commit.ErrUnavailable) {
		return err
	}
	id, err := texts(ctx, a.pool, `SELECT event_id FROM hooklatch.processed_events
		WHERE source = $1 AND outcome = 'dispatched' AND erased_at IS NULL ORDER BY random() LIMIT 1`, handled)
	if err != nil || len(id) == 0 {
		return err
	}
	ref := identity.EventRef{Source: handled, EventID: identity.EventID(id[0])}
	return a.order(ctx, history.Order{Action: "erase", Source: handled, EventID: id[0]}, func(by ledger.Operator) error {
		_, err := a.box.Erasure().Event(ctx, ref, by, erasure.Order{})
		return err
	})
}

// retire registers a destination, enqueues an effect for it, requests a probe, and retires the
// destination.
func (a *actor) retire(ctx context.Context, _ int) error {
	name := gone + uuid.NewString()[:8]
	err := a.box.Fleet().RegisterDestinations(ctx, []fleet.Destination{{Name: name, Kind: "http", Queue: "dst_gone"}})
	if errors.Is(err, commit.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := a.enqueue(ctx, name); err != nil {
		return err
	}
	// The breaker stays open while the destination exists, so that an operator can request a probe
	// of the destination.
	if _, err := a.pool.Exec(ctx, `UPDATE hooklatch.destinations SET breaker_state = 'open', opened_at = now(), probe_at = now() + interval '1 hour'
		WHERE name = $1`, name); err == nil {
		_ = a.box.Fleet().ProbeNow(ctx, name, ledger.Operator{Who: who, Via: "sweep"}) // this process expects errors
	}
	return a.retireNamed(ctx, name)
}

// mute mutes an alert that would not fire anyway.
func (a *actor) mute(ctx context.Context, _ int) error {
	_ = a.alerts.Mute(ctx, "source_silent", time.Minute, ledger.Operator{Who: who, Via: "sweep"}) // this process expects errors
	return nil
}

// signOut signs out a user, whose login it inserts first.
func (a *actor) signOut(ctx context.Context, _ int) error {
	if _, err := a.pool.Exec(ctx, `INSERT INTO hooklatch.console_logins (hash, name, role, way, basis)
		VALUES (gen_random_uuid()::text::bytea, 'somebody', 'viewer', 'token', '')`); err == nil {
		_, _ = a.logins.EndOf(ctx, a.box.Ledger(), "somebody", ledger.Operator{Who: who, Via: "sweep"}) // this process expects errors
	}
	return nil
}

// held drops an event that a guard holds, and then releases it.
func (a *actor) held(ctx context.Context, _ int) error {
	id, err := texts(ctx, a.pool, `SELECT event_id FROM hooklatch.processed_events WHERE source = $1 AND outcome = 'held' LIMIT 1`, "guarded")
	if err != nil || len(id) == 0 {
		return err
	}
	ref := identity.EventRef{Source: "guarded", EventID: identity.EventID(id[0])}
	told := history.Order{Source: "guarded", EventID: id[0]}
	told.Action = "drop"
	if err := a.order(ctx, told, func(by ledger.Operator) error { return a.box.Inbox().Drop(ctx, ref, by) }); err != nil {
		return err
	}
	told.Action = "release"
	return a.order(ctx, told, func(by ledger.Operator) error { return a.box.Inbox().Release(ctx, ref, by) })
}

// releaseAll releases held and dropped events and replays failed ones, until ctx is done. It
// repeats these actions, because further deliveries may still arrive.
func (a *actor) releaseAll(ctx context.Context) error {
	ticker := time.NewTicker(10 * pace)
	defer ticker.Stop()
	for {
		ids, err := texts(ctx, a.pool, `SELECT event_id FROM hooklatch.processed_events WHERE source = $1 AND outcome IN ('held', 'dropped')`, "guarded")
		for _, id := range ids {
			if err != nil {
				break
			}
			ref := identity.EventRef{Source: "guarded", EventID: identity.EventID(id)}
			told := history.Order{Action: "release", Source: "guarded", EventID: id}
			err = a.order(ctx, told, func(by ledger.Operator) error { return a.box.Inbox().Release(ctx, ref, by) })
		}
		if err == nil {
			err = a.replayFailed(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// replayFailed replays the events that handlers gave up.
func (a *actor) replayFailed(ctx context.Context) error {
	ids, err := texts(ctx, a.pool, `SELECT event_id FROM hooklatch.processed_events WHERE source = $1 AND outcome = 'failed'`, "handled")
	for _, id := range ids {
		if err != nil {
			break
		}
		ref := identity.EventRef{Source: "handled", EventID: identity.EventID(id)}
		err = a.order(ctx, history.Order{Action: "replay", Source: "handled", EventID: id}, func(by ledger.Operator) error {
			_, err := a.box.Inbox().Replay(ctx, ref, by, inbox.ReplayOptions{})
			return err
		})
	}
	return err
}

// replay replays an event that was dispatched.
func (a *actor) replay(ctx context.Context, round int) error {
	id, err := texts(ctx, a.pool, `SELECT event_id FROM hooklatch.processed_events
		WHERE source = $1 AND outcome = 'dispatched' ORDER BY generation, random() LIMIT 1`, replayed)
	if err != nil || len(id) == 0 {
		return err
	}
	ref := identity.EventRef{Source: replayed, EventID: identity.EventID(id[0])}
	opts := inbox.ReplayOptions{NewKeys: round%2 == 0}
	return a.order(ctx, history.Order{Action: "replay", Source: replayed, EventID: id[0], NewKeys: opts.NewKeys}, func(by ledger.Operator) error {
		_, err := a.box.Inbox().Replay(ctx, ref, by, opts)
		return err
	})
}

// senderKey stores a key, as gateways do for senders that publish their keys.
func (a *actor) senderKey(_ context.Context, round int) error {
	a.box.KeepSenderKey(outbox.SenderKey{Source: "main", ID: strconv.Itoa(round % 20), Document: []byte("a key")})
	return nil
}

// importKeys imports the key of an event that another system accepted.
func (a *actor) importKeys(ctx context.Context, _ int) error {
	key := inbox.ImportedKey{EventID: identity.EventID(uuid.NewString()), ReceivedAt: time.Now().Add(-time.Hour)}
	told := history.Order{Action: "import", Source: elsewhere, EventID: string(key.EventID)}
	return a.order(ctx, told, func(by ledger.Operator) error {
		_, err := a.box.Inbox().ImportKeys(ctx, elsewhere, []inbox.ImportedKey{key}, by, nil)
		return err
	})
}

// enqueue enqueues an effect and inserts the application's own row, in one transaction.
func (a *actor) enqueue(ctx context.Context, destination string) (identity.EffectID, error) {
	key := uuid.NewString()
	body := bodyOf(key)
	told := history.Record{Who: who, Op: history.OpEnqueue, Enqueue: &history.Enqueue{Destination: destination, Key: key, Hash: hashOf(body), Via: "go"}}
	err := a.witness.Watch(ctx, told, func() (history.Kind, string) {
		return outcome(pgx.BeginTxFunc(ctx, a.pool, commit.TransactionOptions(time.Second), func(tx pgx.Tx) error {
			request := ledger.Request{ContentType: "application/json", Body: body}
			if _, err := a.box.EnqueueTx(ctx, tx, outbox.Enqueue{Destination: destination, Key: identity.Key(key), Request: request}); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO torture.orders_of_application (key) VALUES ($1)`, key)
			return err
		}))
	})
	id := identity.EffectID{Scope: identity.ScopeOfEnqueue(destination), Key: identity.Key(key), Generation: 1}
	return id, err
}

// bodyOf returns the body of an effect that is enqueued with the key.
func bodyOf(key string) []byte { return []byte(`{"key":"` + key + `"}`) }

func hashOf(body []byte) string {
	hash := sha256.Sum256(body)
	return hex.EncodeToString(hash[:])
}

// order performs an operator action that the history records. It returns an error if the history
// could not be written.
func (a *actor) order(ctx context.Context, told history.Order, give func(by ledger.Operator) error) error {
	return a.witness.Watch(ctx, history.Record{Who: who, Op: history.OpOrder, Order: &told}, func() (history.Kind, string) {
		return outcome(give(ledger.Operator{Who: who, Via: "sweep"}))
	})
}

// outcome returns the outcome of a transaction, judged by its error.
func outcome(err error) (history.Kind, string) {
	switch {
	case err == nil:
		return history.OK, ""
	case application.Refused(err):
		return history.Fail, err.Error()
	}
	return history.Unknown, err.Error()
}

// texts returns the rows of a statement with one column.
func texts(ctx context.Context, pool *pgxpool.Pool, statement string, arguments ...any) ([]string, error) {
	rows, err := pool.Query(ctx, statement, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
