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

// refusal is the answer to a request that gets no 2xx. The message to the sender
// and the cause for the log are apart: the sender may be a forger.
type refusal struct {
	status  int
	result  result // label of the metric
	reason  string // label of the metric and the log, from a fixed set
	message string // for the sender
	cause   error  // for the log, or nil
	allow   string // of a 405
	// challenge is the value of WWW-Authenticate of a 401.
	challenge string
	// acceptEncoding are the content encodings that a 415 would accept.
	acceptEncoding string
	replay         bool // of something that was proven
	bare           bool // the sender accepts no body in an answer
}

const (
	// reasonMemory: all memory for bodies, or that for bodies of the source, is taken.
	reasonMemory = "overload_memory"
	// reasonSlow: the body came too slowly while others wanted its place.
	reasonSlow = "overload_slow"
)

// ours is true when the sender did nothing wrong.
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

// refuseUnavailable is the answer to every fault of ours that may pass: never
// 4xx, which some senders take as a reason to give up, and never 410.
func refuseUnavailable(reason string, cause error) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, result: resultUnavailable, reason: reason,
		message: "unavailable, try again later", cause: cause}
}

// refuseFault is the answer to a bug of ours.
func refuseFault(reason string, cause error) *refusal {
	return &refusal{status: http.StatusInternalServerError, result: resultFault, reason: reason,
		message: "internal error", cause: cause}
}

// refuseProof maps what a provider could not prove. Whatever a proof lacks, the
// answer is one and the same: it must not help a forger.
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

// The reasons of what a replay guard found.
const (
	reasonReplayed = "replayed"
	reasonForged   = "replayed_with_other_content"
)

// refuseReplay is the answer to a captured delivery sent again: for its sender
// it looks like any other that is not proven.
func refuseReplay(a outbox.Acceptance) *refusal {
	r := &refusal{status: http.StatusUnauthorized, result: resultRejected, reason: reasonReplayed, message: "unauthorized", replay: true,
		cause: fmt.Errorf("the proof of this delivery came before, under other ids; %d of its %d events are new", a.Refused(), len(a.Events))}
	if a.Events[0].ContentDiffers {
		r.reason, r.cause = reasonForged, errors.New("the proof of this delivery came before, with another body or type")
	}
	return r
}

// asking adds to a 401 what to send: the scheme of the source and, as the realm,
// its name. It is the same for every reason, so that it helps no forger.
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

// refuseTest is the answer to a test of the sender where only what really happened is
// taken.
func refuseTest() *refusal {
	return &refusal{status: http.StatusUnprocessableEntity, result: resultInvalid, reason: "test_event",
		message: "this is a test event, and this endpoint takes live ones only"}
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
	// Unknown: it may well pass, and a repeated delivery is harmless.
	return refuseUnavailable("accept_error", err)
}

// refuseIfPanicked makes a panic a refusal, for use with defer.
func refuseIfPanicked(refused **refusal) {
	if value := recover(); value != nil {
		*refused = refuseFault("panic", errors.New(panicked.Text(value)))
	}
}
