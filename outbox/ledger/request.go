package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Request is what an effect sends, as rendered. Destinations give it a
// meaning: for http it is the request, for email Body is the message.
type Request struct {
	Method      string
	URL         string              // empty: the destination's own, fixed by the first claim
	Headers     map[string][]string // without secrets; those are added at each attempt
	ContentType string
	// Body is nil when FromDelivery is set.
	Body []byte
	// FromDelivery sends the event as it came: its delivery's body, or the
	// event's own part of it.
	FromDelivery bool
	// Late tells that the request is not rendered yet: the first attempt fixes
	// it with FixRequest before it calls anybody. All else is empty until then.
	Late bool
}

// body is what the ledger stores: NULL for the event as it came.
func (r Request) body() []byte {
	switch {
	case r.FromDelivery, r.Late:
		return nil
	case r.Body == nil:
		return []byte{}
	}
	return r.Body
}

// How far the request of an effect is rendered, as the ledger says it.
const (
	renderingDone   = "done"
	renderingLate   = "late"
	renderingFailed = "failed"
)

// FixRequest commits what the request of a granted effect with Request.Late was
// rendered to, before the attempt calls anybody: every later attempt sends the
// same (I7). Empty fields stay as the plan and the first claim left them. It
// returns the effect with its request. A worker that dies before this has called
// nobody, so the next attempt starts without doubt. Errors: ErrLate,
// ErrUnavailable.
func (l *Ledger) FixRequest(ctx context.Context, e Effect, r Request) (Effect, error) {
	if e.claimID == uuid.Nil || r.FromDelivery || r.Late {
		return Effect{}, errors.New("fix request: it must be complete, and the effect claimed")
	}
	headers, err := column.Headers(r.Headers)
	if err != nil {
		return Effect{}, fmt.Errorf("fix request: encode headers: %w", err)
	}
	var stored []byte
	fixed := Request{}
	err = l.db.Do(ctx, "fix_request", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		err := l.sql.FixRequest.With(fixRequest{
			EffectID: e.EffectID, Attempt: e.Attempt, ClaimID: e.claimID, Headers: headers, Body: r.body(),
			Method: safetext.Storable(r.Method), URL: safetext.Storable(r.URL), ContentType: safetext.Storable(r.ContentType),
		}).QueryRow(ctx, tx).
			Scan(&fixed.Method, &fixed.URL, &stored, &fixed.ContentType, &fixed.Body)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLate
		}
		return err
	})
	if err != nil {
		return Effect{}, fmt.Errorf("fix request of %s: %w", e.IdempotencyKey, err)
	}
	if err := json.Unmarshal(stored, &fixed.Headers); err != nil {
		return Effect{}, fmt.Errorf("fix request: decode headers: %w", err)
	}
	e.Request = fixed
	return e, nil
}
