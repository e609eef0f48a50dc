package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

// Request is an effect's rendered request. Its meaning depends on the destination: an http
// destination sends it as an HTTP request, and an email destination sends Body as the message.
type Request struct {
	Method      string
	URL         string              // empty: the destination's URL, set by the first claim
	Headers     map[string][]string // without secrets, which are added at each attempt
	ContentType string
	// Body is nil when FromDelivery is set.
	Body []byte
	// FromDelivery is true to send the event as it was received: its delivery's body, or the
	// event's part of that body.
	FromDelivery bool
	// Late is true if the request is not rendered yet. The first attempt renders it and stores it
	// with FixRequest before it calls the receiver. Until then, Body and ContentType are empty.
	Late bool
}

// body returns the body to store. It is nil, which means NULL, if the event is sent as received or
// the request is not rendered yet.
func (r Request) body() []byte {
	switch {
	case r.FromDelivery, r.Late:
		return nil
	case r.Body == nil:
		return []byte{}
	}
	return r.Body
}

// CompletedBy returns r as the first claim completes it: with the method, URL and headers of first
// that r does not set.
func (r Request) CompletedBy(first Request) Request {
	headers := make(map[string][]string, len(first.Headers)+len(r.Headers))
	maps.Copy(headers, first.Headers)
	maps.Copy(headers, r.Headers)
	r.Method, r.URL, r.Headers = cmp.Or(r.Method, first.Method), cmp.Or(r.URL, first.URL), headers
	return r
}

// The progress of rendering a request, as stored in the ledger.
const (
	renderingDone   = "done"
	renderingLate   = "late"
	renderingFailed = "failed"
)

// FixRequest stores the rendered request of a granted effect with Request.Late, before the attempt
// calls the receiver. Every later attempt sends the same request (I7). An empty Method or URL keeps
// the value set by the first claim. FixRequest returns the effect with its request. A worker that
// dies before this call has not called the receiver, so the effect is not in doubt. Errors: ErrLate,
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
