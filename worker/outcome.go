package worker

import (
	"errors"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// errorLine returns an attempt's error in one line, with the receiver's status if there is one. The
// line never contains a body, because Outcome.Err does not.
func errorLine(out destination.Outcome) string {
	text, status := errorText(out.Err), strconv.Itoa(out.Status)
	if out.Status == 0 || strings.Contains(text, status) {
		return text
	}
	return status + " " + text
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(err.Error())
}

// applied returns the word with which River UI shows whether the effect was applied.
func applied(v ledger.Verdict) string {
	switch v {
	case ledger.VerdictDone:
		return "yes"
	case ledger.VerdictRefused, ledger.VerdictTurnedAway, ledger.VerdictNotApplied:
		return "no"
	case ledger.VerdictMaybeApplied:
	}
	return "unknown"
}

// notSent returns the outcome of an attempt that has nothing to send because of err. A deleted
// delivery cannot be restored, so the verdict for its effect is VerdictRefused.
func notSent(err error) destination.Outcome {
	verdict := ledger.VerdictNotApplied
	if errors.Is(err, ledger.ErrNotFound) {
		verdict = ledger.VerdictRefused
	}
	return destination.Outcome{Verdict: verdict, Err: err}
}
