package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// RefusedError explains why a quarantined delivery is still refused.
type RefusedError struct {
	Reason string // from a fixed set: the reasons in log lines, and the reasons below
	// Ours is true if Hooklatch is at fault, and the same call may succeed later. It is false for
	// every other reason, including a source that is unknown or has no valid secret: a bulk run
	// then continues with the next delivery.
	Ours  bool
	cause error
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.cause == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Reason, e.cause)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.cause }

// Reasons that AcceptAgain and WouldAccept return in addition to the reasons of a refusal.
const (
	reasonNoSource   = "unknown_source"
	reasonNoProof    = "proof_not_kept" // the request's secret is not current, or not restorable
	reasonNoDelivery = "no_delivery"    // the request is the sender's endpoint check, not a delivery
)

// AcceptAgain verifies a quarantined delivery with the current configuration and, if it is valid,
// accepts it. It compares a signed time with the delivery's arrival time. A content window begins
// at the arrival time. Errors: *RefusedError.
func (g *Gateway) AcceptAgain(ctx context.Context, kept *quarantine.Delivery) (outbox.Acceptance, error) {
	return g.judgeAgain(ctx, kept, false)
}

// WouldAccept returns nil if AcceptAgain would accept a delivery, and otherwise the reason. It
// checks only authenticity and content, accepts nothing and counts nothing. Errors: *RefusedError.
func (g *Gateway) WouldAccept(ctx context.Context, kept *quarantine.Delivery) error {
	_, err := g.judgeAgain(ctx, kept, true)
	return err
}

func (g *Gateway) judgeAgain(ctx context.Context, kept *quarantine.Delivery, trial bool) (outbox.Acceptance, error) {
	src := (*g.sources.Load())[string(kept.Source)]
	if src == nil {
		return outbox.Acceptance{}, &RefusedError{Reason: reasonNoSource}
	}
	request, err := g.restored(src, kept)
	if err != nil {
		return outbox.Acceptance{}, &RefusedError{Reason: "unreadable_request", cause: err}
	}
	rx := &reception{
		gateway: g, source: src, ctx: ctx, span: trace.SpanFromContext(context.Background()),
		started: kept.RejectedAt, arrived: kept.RejectedAt, secrets: src.keys.at(g.opts.Now()), memory: g.memory.reservation(src, true), trial: trial,
	}
	defer rx.leave()
	request.Trial = trial
	restored := src.restoreSecrets(rx, request, kept)
	answered, refused := rx.judgeSafely(request)
	switch {
	case refused != nil && !restored && refused.result == resultRejected:
		return outbox.Acceptance{}, &RefusedError{Reason: reasonNoProof, cause: fmt.Errorf("%s carried no current secret, or one that cannot be restored", strings.Join(kept.Carried(), ", "))}
	case refused != nil:
		return outbox.Acceptance{}, &RefusedError{Reason: refused.reason, Ours: refused.ours() && refused.reason != reasonNoValidSecret, cause: errors.Join(refused.cause, messageOf(refused))}
	case answered.result == resultHandshake:
		return outbox.Acceptance{}, &RefusedError{Reason: reasonNoDelivery}
	}
	return answered.acceptance, nil
}

// messageOf returns the message that the sender of an invalid delivery gets, or nil for any other
// refusal.
func messageOf(r *refusal) error {
	if r.result == resultInvalid {
		return errors.New(r.message)
	}
	return nil
}

// restoreSecrets fills in the secrets that were removed from a quarantined request. The quarantine
// stored only their HMACs, so restoreSecrets looks for a current secret with the same HMAC. It
// returns true if it finds one, or if no secret was removed.
func (s *source) restoreSecrets(rx *reception, request *provider.Request, kept *quarantine.Delivery) bool {
	names := kept.Carried()
	if len(names) == 0 {
		return true
	}
	return s.Provider.Sign != nil && slices.ContainsFunc(rx.secrets.values, func(value secret.Value) bool {
		trial := &provider.Request{Method: request.Method, URL: copyOf(request.URL), Header: request.Header.Clone(), Body: slices.Clone(request.Body)}
		if err := s.Provider.Sign(trial, value, rx.started); err != nil {
			return false
		}
		carried := s.carried(trial)
		if !slices.Equal(slices.Sorted(maps.Keys(carried)), names) {
			return false
		}
		for name, values := range carried {
			normal := make([]string, len(values))
			for i, value := range values {
				normal[i] = s.normal(value)
			}
			// If the delivery was kept under other settings or by an older version, the stored HMAC
			// covers the value as it arrived.
			if !kept.CarriedAs(name, normal) && !kept.CarriedAs(name, values) {
				return false
			}
		}
		query := payload.ParseForm(request.URL.RawQuery)
		for name, values := range carried {
			if header, is := strings.CutPrefix(name, inHeader); is {
				request.Header[header] = values
			} else {
				query[strings.TrimPrefix(name, inQuery)] = values
				request.URL.RawQuery = query.Encode()
			}
		}
		return true
	})
}

func copyOf(u *url.URL) *url.URL {
	c := *u
	return &c
}
