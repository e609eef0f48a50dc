package application

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker"
)

// Direct is the destination for effects that applications enqueue.
const Direct = "direct"

// mood is the way an event is handled. The event's id determines its mood.
type mood int

// Values of mood. Once an event is old enough, the handler handles it without an error. So every
// event is handled in the end, even if processes died while handling it.
const (
	calm      mood = iota
	impatient      // requests another call soon
	failing        // returns an error
	panicking      // panics
	slow           // holds its transaction open for a while
)

// retryWait is the delay before an impatient handler is called again.
const retryWait = 150 * time.Millisecond

// moodOf returns an event's mood m. From the age youth on, the event is handled without an error.
// For the mood slow, youth is how long the handler holds its transaction open.
func moodOf(id identity.EventID) (m mood, youth time.Duration) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id)) // never fails
	sum := hash.Sum32()
	youth = time.Duration(300+(sum>>8)%900) * time.Millisecond
	if m = mood(sum % 16); m > slow {
		return calm, 0
	}
	return m, youth
}

// HandledEffect returns the effect that the handler enqueues for an event: exactly one,
// however often the event is replayed.
func HandledEffect(id string) (key string, body []byte) {
	return "handled-" + id, fmt.Appendf(nil, `{"event":%q}`, id)
}

// handler writes a row for every generation of an event, and enqueues an effect.
type handler struct{ box *outbox.Outbox }

var errYoung = errors.New("hookstorm makes the handler fail while the event is young")

// handle makes all its writes before it returns an error, so that a run shows whether they are
// rolled back.
func (h *handler) handle(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
	if _, err := tx.Exec(ctx, `INSERT INTO torture.handled (source, event_id, generation) VALUES ($1, $2, $3)`,
		e.Source, e.EventID, e.Generation); err != nil {
		return fmt.Errorf("write that the event is handled: %w", err)
	}
	key, body := HandledEffect(string(e.EventID))
	if _, err := h.box.EnqueueTx(ctx, tx, outbox.Enqueue{
		Destination: Direct, Key: identity.Key(key),
		Request: ledger.Request{ContentType: "application/json", Body: body},
	}); err != nil {
		return err
	}
	m, youth := moodOf(e.EventID)
	young := time.Since(e.ReceivedAt) < youth
	switch {
	case m == slow:
		timer := time.NewTimer(youth)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	case young && m == impatient:
		return worker.RetryIn(retryWait, errYoung)
	case young && m == failing:
		return errYoung
	case young && m == panicking:
		panic(errYoung)
	}
	return nil
}
