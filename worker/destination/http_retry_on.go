package destination

import (
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// DefaultRetryOn returns the statuses after which an effect with the policy is tried again. Such a
// status has a cause other than the effect, and an operator can repair the cause: a wrong secret
// (401, 403, 407), a route that is not deployed yet (404), a request that reached the wrong server
// (421), a locked resource (423).
//
// A 403, 404 or 423 can also come from a handler that has already done part of its work. An
// at_most_once effect is not tried again after these statuses.
func DefaultRetryOn(policy ledger.Policy) []int {
	if policy == ledger.AtMostOnce {
		return []int{http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusMisdirectedRequest}
	}
	return []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusProxyAuthRequired, http.StatusMisdirectedRequest, http.StatusLocked,
	}
}

// CheckRetryOn reports the statuses that must not be in a list for the policy. Its error is
// option.Faults.
func CheckRetryOn(policy ledger.Policy, statuses []int) error {
	var c option.Check
	for i, status := range statuses {
		if !mayRetryOn(policy, status) {
			c.Failf(element("", i), status, "is not a status that can be retried; allowed: %s", allowedRetryOn(policy))
		}
	}
	return c.Err()
}

// allowedRetryOn describes the statuses that may be in a list for the policy.
func allowedRetryOn(policy ledger.Policy) string {
	if policy == ledger.AtMostOnce {
		return "401, 407 and 421; with at_most_once only these prove that the receiver has done nothing"
	}
	return "400 to 499 without 408, 409, 425 and 429, which have their own meaning"
}

// mayRetryOn reports whether the status may be in a list for the policy.
func mayRetryOn(policy ledger.Policy, status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	if policy == ledger.AtMostOnce {
		return slices.Contains(DefaultRetryOn(policy), status)
	}
	return status >= 400 && status <= 499
}

// retriesOn reports whether the effect is tried again after the status. The policy is the effect's,
// which can differ from its destination's.
func (h *HTTP) retriesOn(policy ledger.Policy, status int) bool {
	if h.retryOn == nil {
		return slices.Contains(DefaultRetryOn(policy), status)
	}
	return slices.Contains(h.retryOn, status) && mayRetryOn(policy, status)
}
