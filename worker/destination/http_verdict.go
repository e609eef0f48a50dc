package destination

import (
	"fmt"
	"net/http"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// answered returns the meaning of an HTTP status for the effect:
//
//	2xx            done
//	101            maybe applied: no request asked to switch protocols
//	3xx            refused: redirects are not followed
//	425, 429       not applied: the receiver says that it did not process the request
//	408, 5xx       maybe applied, including 503: proxies send it after passing a request on
//	409            maybe applied if ambiguous, see below; otherwise refused
//	in retry_on    turned away
//	other 4xx      refused
//	all others     maybe applied
//
// A 409 means "this exists already", which is final, or "a request with this key is in progress"
// (draft-ietf-httpapi-idempotency-key-header; Stripe). The second meaning is possible only if an
// earlier attempt may have arrived, or if the receiver sends a Retry-After. Such a response is
// ambiguous. If the response has the first meaning, the attempts run out and the effect is parked
// as in doubt. A verdict of refused would be worse: the effect would fail although an earlier
// attempt may have been applied.
func (h *HTTP) answered(e *ledger.Effect, status int, header http.Header) Outcome {
	out := Outcome{Status: status}
	if status >= 200 && status <= 299 {
		out.Verdict = ledger.VerdictDone
		return out
	}
	out.RetryAfter = retryAfter(header, h.now())
	out.Err = fmt.Errorf("HTTP %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusSwitchingProtocols:
		out.Verdict = ledger.VerdictMaybeApplied
		out.Err = fmt.Errorf("HTTP %d %s: no request asks for this; the destination's url may lead to a websocket",
			status, http.StatusText(status))
	case status >= 300 && status <= 399:
		out.Verdict = ledger.VerdictRefused
		out.Err = fmt.Errorf("HTTP %d %s: redirects are not followed; the destination's url must be the final address",
			status, http.StatusText(status))
	case status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		out.Verdict = ledger.VerdictNotApplied
	case status == http.StatusRequestTimeout:
		out.Verdict = ledger.VerdictMaybeApplied
	case status == http.StatusConflict && (header.Get("Retry-After") != "" || !e.MaybeAppliedSince.IsZero()):
		out.Verdict = ledger.VerdictMaybeApplied
	case h.retriesOn(e.Policy, status):
		out.Verdict = ledger.VerdictTurnedAway
	case status >= 400 && status <= 499:
		out.Verdict = ledger.VerdictRefused
	default:
		out.Verdict = ledger.VerdictMaybeApplied
	}
	return out
}
