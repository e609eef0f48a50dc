package pretty

import (
	"strings"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// State is the icon, word and colour for a state.
type State struct{ Icon, Class, Word string }

// StateOf returns the display form of an event's outcome, or of an effect's or a bulk run's state.
func StateOf(of any) State {
	switch of := of.(type) {
	case inbox.Outcome:
		return outcome(of)
	case ledger.EffectState:
		return Effect(of)
	case runs.State:
		return Run(of)
	}
	return State{}
}

func outcome(o inbox.Outcome) State {
	shown := State{Word: string(o)}
	switch o {
	case inbox.Received:
		shown.Icon, shown.Class = "circle-dashed", "waiting"
	case inbox.Dispatched:
		// A dispatched event does not have the colour of success: the states of its effects show
		// the result.
		shown.Icon, shown.Class = "send", "waiting"
	case inbox.Skipped:
		shown.Icon, shown.Class = "skip-forward", "muted"
	case inbox.Failed:
		shown.Icon, shown.Class = "octagon-x", "failed"
	case inbox.Held:
		shown.Icon, shown.Class = "hand", "parked"
	case inbox.Dropped:
		shown.Icon, shown.Class = "ban", "muted"
	case inbox.Imported:
		shown.Icon, shown.Class = "inbox", "muted"
	}
	return shown
}

// Run returns the display form of a bulk run's state.
func Run(s runs.State) State {
	shown := State{Word: string(s)}
	switch s {
	case runs.Running:
		shown.Icon, shown.Class = "play", "running"
	case runs.Paused:
		shown.Icon, shown.Class = "circle-pause", "parked"
	case runs.Stopped:
		shown.Icon, shown.Class = "ban", "muted"
	case runs.Done:
		shown.Icon, shown.Class = "circle-check", "good"
	case runs.Failed:
		shown.Icon, shown.Class = "octagon-x", "failed"
	}
	return shown
}

// Effect returns the display form of an effect's state.
func Effect(s ledger.EffectState) State {
	shown := State{Word: strings.ReplaceAll(string(s), "_", " ")}
	switch s {
	case ledger.EffectPending:
		shown.Icon, shown.Class = "clock", "waiting"
	case ledger.EffectStarted:
		shown.Icon, shown.Class = "play", "running"
	case ledger.EffectDone:
		shown.Icon, shown.Class = "circle-check", "good"
	case ledger.EffectFailed:
		shown.Icon, shown.Class = "octagon-x", "failed"
	case ledger.EffectInDoubt:
		shown.Icon, shown.Class = "circle-question-mark", "doubtful"
	case ledger.EffectParked:
		shown.Icon, shown.Class = "hand", "parked"
	case ledger.EffectCancelled:
		shown.Icon, shown.Class = "ban", "muted"
	}
	return shown
}
