package life

import (
	"fmt"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// AttemptLine describes one attempt on one line.
func AttemptLine(a ledger.Attempt) string {
	parts := []string{fmt.Sprintf("attempt %d", a.Attempt)}
	if a.KeyRotation > 0 {
		parts = append(parts, fmt.Sprintf("key %d", a.KeyRotation+1))
	}
	if a.ResponseStatus != 0 {
		parts = append(parts, fmt.Sprintf("answered %d", a.ResponseStatus))
	}
	parts = append(parts, "applied: "+a.Applied, "then "+string(a.State))
	if took := a.FinishedAt.Sub(a.StartedAt); took > 0 && !a.Lost {
		parts = append(parts, took.Round(time.Millisecond).String())
	}
	line := strings.Join(parts, ", ")
	if a.Error != "" {
		line += "; " + safetext.Shown(a.Error)
	}
	return line
}

// TransitionLine describes one state change on one line.
func TransitionLine(t ledger.Transition) string {
	line := string(t.To)
	if t.From != "" {
		line = string(t.From) + " -> " + line
	}
	if t.To == ledger.EffectStarted {
		line += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	return line + ReasonSuffix(safetext.Shown(t.Reason))
}

// ActionLine describes one operator action on one line.
func ActionLine(a ledger.OperatorAction) string {
	return strings.TrimSpace(fmt.Sprintf("%s of %s by %s, %s%s", a.Action, safetext.Shown(a.Target), safetext.Shown(a.Who), safetext.Shown(a.Via),
		ReasonSuffix(safetext.Shown(a.Reason))))
}

// replayLine describes a replay on one line.
func replayLine(r inbox.EventReplay) string {
	line := "replayed"
	if r.By != "" {
		line += " by " + safetext.Shown(r.By)
	}
	line += fmt.Sprintf(", generation %d", r.Generation)
	if r.NewKeys {
		line += ", with new keys"
	}
	if r.Route != "" {
		line += ", only route " + safetext.Shown(r.Route)
	}
	return line + ReasonSuffix(safetext.Shown(r.Reason))
}

// ReasonSuffix returns ": reason", or "" without a reason.
func ReasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
