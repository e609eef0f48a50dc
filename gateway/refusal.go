package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/panicked"
	"github.com/hooklatch/hooklatch/outbox"
)

// refusal is the response to a request that gets no 2xx. The message for the sender and the
// cause for the log are separate, because the sender may be a forger.
type refusal struct {
	status  int
	result  result // metric label
	reason  string // label in metrics and log, from a fixed set
	message string // for the sender
	cause   error  // for the log, or nil
	allow   string // Allow header of a 405
	// challenge is the WWW-Authenticate value of a 401.
	challenge string
	// acceptEncoding is the Accept-Encoding value of a 415: the encodings that the source accepts.
	acceptEncoding string
	replay         bool // true if the request's signature was used before
	bare           bool // true if the sender accepts no body in a response
}

const (
	// reasonMemory means that the body does not fit into the memory for all bodies, into its
	// source's share, or into the part for unknown senders.
	reasonMemory = "overload_memory"
	// reasonSlow means that the body arrived too slowly while other deliveries needed its slot.
	reasonSlow = "overload_slow"
	// reasonNoValidSecret means that no secret of the source is valid at this time.
	reasonNoValidSecret = "no_valid_secret"
)

// ours reports whether Hooklatch is or may be at fault. It is true for every 5xx, including the
// response to a slow body.
func (r *refusal) ours() bool { return r.status >= http.StatusInternalServerError }

func refuseUnknownSource() *refusal {
	return &refusal{status: http.StatusNotFound, result: resultUnknownSource, reason: "unknown_source", message: "no such source"}
}

func refuseMethod(allow string) *refusal {
	return &refusal{status: http.StatusMethodNotAllowed, result: resultMethod, reason: "method", message: "use " + allow, allow: allow}
}

func refuseTooLarge(limit int64) *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, result: resultTooLarge, reason: "too_large",
		message: fmt.Sprintf("the body has more than %d bytes", limit)}
}

// refuseUnavailable builds the response for a temporary fault of Hooklatch. The status is never a
// 4xx, because some senders then give up.
func refuseUnavailable(reason string, cause error) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, result: resultUnavailable, reason: reason,
		message: "unavailable, try again later", cause: cause}
}

// refuseFault builds the response to a bug in Hooklatch.
func refuseFault(reason string, cause error) *refusal {
	return &refusal{status: http.StatusInternalServerError, result: resultFault, reason: reason,
		message: "internal error", cause: cause}
}

// refuseProof maps a verification error to a refusal. All VerifyErrors get the same response, so
// that the response does not help a forger.
func refuseProof(err error) *refusal {
	if unproven, ok := errors.AsType[*provider.VerifyError](err); ok {
		return &refusal{status: http.StatusUnauthorized, result: resultRejected, reason: string(unproven.Reason),
			message: "unauthorized", cause: err}
	}
	if unusable, ok := errors.AsType[*provider.EventError](err); ok {
		return refuseUnusable(unusable)
	}
	return refuseUnavailable("proof", err)
}

// Reasons for refusal by the replay guard.
const (
	reasonReplayed = "replayed"
	reasonForged   = "replayed_with_other_content"
)

// refuseReplay builds the response to a delivery whose signature was used before with other ids or
// content. The sender gets the same response as for an unverified delivery.
func refuseReplay(a outbox.Acceptance) *refusal {
	r := &refusal{status: http.StatusUnauthorized, result: resultRejected, reason: reasonReplayed, message: "unauthorized", replay: true,
		cause: fmt.Errorf("the proof of this delivery was used before, with other ids; %d of its %d events are new", a.Refused(), len(a.Events))}
	if a.Events[0].ContentDiffers {
		r.reason, r.cause = reasonForged, errors.New("the proof of this delivery was used before, with another body or type")
	}
	return r
}

// asking adds the challenge to a 401: the source's authentication scheme and, as the realm, the
// source's name. The challenge is the same for every reason, so that it does not help a forger.
func (r *refusal) asking(src *source) *refusal {
	if r.status == http.StatusUnauthorized && src != nil {
		r.challenge = cmp.Or(src.Provider.Challenge, provider.SignatureChallenge) + ` realm="` + src.Name + `"`
	}
	return r
}

func refuseEvents(err error) *refusal {
	if unusable, ok := errors.AsType[*provider.EventError](err); ok {
		return refuseUnusable(unusable)
	}
	return refuseFault("provider", err)
}

// refuseTest builds the response to a test event at a source that accepts only live events.
func refuseTest() *refusal {
	return &refusal{status: http.StatusUnprocessableEntity, result: resultInvalid, reason: "test_event",
		message: "this is a test event, and this endpoint accepts only live events"}
}

func refuseUnusable(e *provider.EventError) *refusal {
	r := &refusal{status: http.StatusUnprocessableEntity, result: resultInvalid, reason: "no_usable_event", message: e.Message}
	if e.Unreadable {
		r.status, r.reason = http.StatusBadRequest, "unreadable_body"
	}
	return r
}

func refuseAccept(err error) *refusal {
	if invalid, ok := errors.AsType[*outbox.InvalidEventError](err); ok {
		return &refusal{status: http.StatusUnprocessableEntity, result: resultInvalid, reason: "invalid_event", message: invalid.Error()}
	}
	switch {
	case errors.Is(err, outbox.ErrBusy):
		return refuseUnavailable("busy", err)
	case errors.Is(err, outbox.ErrClosed):
		return refuseUnavailable("closed", err)
	case errors.Is(err, outbox.ErrUnavailable):
		return refuseUnavailable("database", err)
	}
	// The error is unknown. It may be temporary, and a repeated delivery is harmless.
	return refuseUnavailable("accept_error", err)
}

// refuseIfPanicked turns a panic into a refusal. Call it with defer.
func refuseIfPanicked(refused **refusal) {
	if value := recover(); value != nil {
		*refused = refuseFault("panic", errors.New(panicked.Text(value)))
	}
}
