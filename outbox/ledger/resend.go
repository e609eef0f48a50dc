package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// ErrNotResendable is returned when an effect's request cannot be sent again.
var ErrNotResendable = errors.New("the effect cannot be resent")

// Resend holds the changes to a request that is sent again. A nil field keeps the original value.
type Resend struct {
	Body        []byte
	ContentType *string
	Headers     map[string][]string
}

// applied returns the request with the changes.
func (c Resend) applied(r Request) Request {
	r.FromDelivery = false
	if c.Body != nil {
		r.Body = c.Body
	}
	if c.ContentType != nil {
		r.ContentType = *c.ContentType
	}
	if c.Headers != nil {
		r.Headers = c.Headers
	}
	return r
}

// ResentKey returns the key of the effect that an operator's request creates by resending another
// effect.
func ResentKey(idempotencyKey, requestID string) string {
	return resentID(idempotencyKey, requestID).IdempotencyKey()
}

func resentID(idempotencyKey, requestID string) identity.EffectID {
	return identity.EffectID{Scope: identity.ScopeOfResend(idempotencyKey), Key: identity.Key(requestID), Generation: 1}
}

// Resend creates a new effect with the request of another effect, changed by c, and returns the new
// effect's key. The new effect has the same destination, URL, method and policy, but is in no
// order. The old effect stays as it is. The receiver cannot recognise the new effect as a
// duplicate, because its key differs. A call that repeats the RequestID of an earlier call creates
// nothing and returns the same key. Errors: ErrNotFound, ErrNotResendable, ErrUnavailable.
func (l *Ledger) Resend(ctx context.Context, idempotencyKey string, c Resend, by Operator) (string, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	of, err := l.Effect(ctx, unrotated(idempotencyKey))
	if err != nil {
		return "", fmt.Errorf("resend: %w", err)
	}
	id := resentID(of.IdempotencyKey, by.RequestID)
	what := Instruction{Action: ActionResendEffect, Target: of.IdempotencyKey}
	err = l.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (Consequence, error) {
		created, err := l.resend(ctx, tx, id, of.IdempotencyKey, c)
		if err == nil && !created {
			err = errResent
		}
		return Consequence{Result: "resent as " + id.IdempotencyKey(), Affected: 1}, err
	})
	if err != nil && !errors.Is(err, errResent) {
		return "", fmt.Errorf("resend effect %s: %w", of.IdempotencyKey, err)
	}
	return id.IdempotencyKey(), nil
}

// errResent means that the same request has already created its effect.
var errResent = errors.New("it has already been resent")

func (l *Ledger) resend(ctx context.Context, tx pgx.Tx, id identity.EffectID, idempotencyKey string, c Resend) (created bool, err error) {
	of, err := l.effect(ctx, tx, idempotencyKey)
	if err != nil {
		return false, err
	}
	cause, err := l.lockCause(ctx, tx, of)
	if err != nil {
		return false, err
	}
	if err := of.CheckResend(); err != nil {
		return false, err
	}
	if err := l.loadBody(ctx, tx, &of); errors.Is(err, ErrNotFound) && c.Body != nil {
		of.Request.Body = nil // the new body replaces it
	} else if errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("%w: its body is the body of its event's delivery, which is no longer stored", ErrNotResendable)
	} else if err != nil {
		return false, err
	}
	created, err = l.addTx(ctx, tx, NewEffect{
		EffectID: id, Destination: of.Destination, Policy: of.Policy, Request: c.applied(of.Request),
	}, cause, tracing.Parent(ctx))
	if errors.Is(err, ErrUnknownDestination) {
		return false, fmt.Errorf("%w: no worker has registered its destination %s", ErrNotResendable, of.Destination)
	}
	return created, err
}

// CheckResend returns an error if the effect has no request to send again. Errors:
// ErrNotResendable.
func (e Effect) CheckResend() error {
	switch {
	case !e.ErasedAt.IsZero():
		return fmt.Errorf("%w: its request is %s", ErrNotResendable, e.Error)
	case e.Request.Late:
		return fmt.Errorf("%w: its request is rendered at the first attempt", ErrNotResendable)
	case e.unrendered:
		return fmt.Errorf("%w: its request could not be rendered; replay its event instead", ErrNotResendable)
	}
	return nil
}

// lockCause returns the event of an effect, or nil if it has none, and locks the event's row. A new
// effect with the event's data must not escape an erasure of the event.
func (l *Ledger) lockCause(ctx context.Context, tx pgx.Tx, of Effect) (*Cause, error) {
	if of.Event == (identity.EventRef{}) {
		return nil, nil
	}
	cause := Cause{EventRef: of.Event}
	var emptied bool
	err := l.sql.LockCause.With(of.Event).QueryRow(ctx, tx).
		Scan(&cause.Type, &cause.AcceptSeq, &cause.Generation, &cause.OccurredAt, &cause.Origin, &emptied)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, fmt.Errorf("%w: its event %s was deleted after its retention", ErrNotResendable, of.Event)
	case err != nil:
		return nil, fmt.Errorf("lock event %s: %w", of.Event, err)
	case emptied:
		return nil, fmt.Errorf("%w: its event %s was erased or redacted", ErrNotResendable, of.Event)
	}
	return &cause, nil
}

// maxResends is the maximum number of keys that Resends returns.
const maxResends = 100

// Resends returns the keys of the effects that operators created by resending an effect, oldest
// first. It returns at most 100 keys.
func (l *Ledger) Resends(ctx context.Context, idempotencyKey string) ([]string, error) {
	asked := resendsOf{Scope: identity.ScopeOfResend(idempotencyKey), Limit: maxResends}
	rows, err := l.sql.Resends.With(asked).Query(ctx, pipeline.ByIndex{Sender: l.read})
	if err != nil {
		return nil, fmt.Errorf("list resends of %s: %w", idempotencyKey, err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list resends of %s: %w", idempotencyKey, err)
	}
	return keys, nil
}

// ResentFrom returns the key of the effect that e resends, or "" if e is not a resend.
func (e Effect) ResentFrom() string {
	key, is := strings.CutPrefix(string(e.Scope), string(identity.ScopeOfResend("")))
	if !is {
		return ""
	}
	return key
}
