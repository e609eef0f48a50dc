package cli

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// ManyView is a bulk run on effects or held events, as --json prints it.
type ManyView struct {
	Action     ledger.Action `json:"action"`
	Preview    bool          `json:"preview"` // if true, nothing was done
	Run        int64         `json:"run,omitempty"`
	AsOf       time.Time     `json:"as_of,omitzero"` // set for effects
	Selected   int64         `json:"selected"`
	Changed    int64         `json:"changed"`
	InDoubt    int64         `json:"in_doubt"`   // selected with --in-doubt, otherwise left out
	Unrendered int64         `json:"unrendered"` // left out because the request is not rendered
	Unclear    int64         `json:"unclear"`    // left out because --when failed for their events
	WhyUnclear string        `json:"why_unclear,omitempty"`
	Stopped    bool          `json:"stopped"`
	Command    string        `json:"command,omitempty"` // carries out the run, or its rest
	Sample     []sampleView  `json:"sample,omitempty"`
}

type sampleView struct {
	IdempotencyKey string    `json:"idempotency_key,omitempty"`
	Destination    string    `json:"destination,omitempty"`
	Route          string    `json:"route,omitempty"`
	Source         string    `json:"source,omitempty"`
	EventID        string    `json:"event_id,omitempty"`
	State          string    `json:"state"`
	Attempt        int       `json:"attempt"`
	CreatedAt      time.Time `json:"created_at"`
	ResponseStatus int       `json:"response_status,omitempty"`
	Error          string    `json:"error,omitempty"`
}

// ReplayView is the result of a replay, as --json prints it.
type ReplayView struct {
	Action     ledger.Action `json:"action"`
	Target     string        `json:"target,omitempty"`     // event; empty if many were selected
	Generation int           `json:"generation,omitempty"` // generation of the event
	Preview    bool          `json:"preview"`              // if true, nothing was done
	Run        int64         `json:"run,omitempty"`
	Selected   int64         `json:"selected"`
	Replayed   int64         `json:"replayed"`
	Reopened   int64         `json:"reopened"` // effects that will be attempted again
	Unclear    int64         `json:"unclear"`  // left out because --when failed
	WhyUnclear string        `json:"why_unclear,omitempty"`
	Stopped    bool          `json:"stopped"`
	Command    string        `json:"command,omitempty"` // carries out the rest
	Sample     []string      `json:"sample,omitempty"`
	Forecast   []string      `json:"forecast,omitempty"` // for each event in the sample
}

// viewOfPreview returns the view of a preview.
func (m manyOrder) viewOfPreview(v runs.Preview, forecasts []string) any {
	if v.Order.Action == erasure.ActionEraseEvent {
		return erasurePreview(v)
	}
	if v.Order.Action == ledger.ActionReplayEvent {
		view := replayOf(v)
		view.Preview = true
		for _, e := range v.Sample {
			view.Sample = append(view.Sample, e.Event.String())
		}
		view.Forecast = forecasts
		return view
	}
	view := effectsOf(v)
	view.Preview, view.Command = true, m.commandFor(v.Order)
	for _, e := range v.Sample {
		view.Sample = append(view.Sample, sampleView{
			IdempotencyKey: e.Effect, Destination: e.Destination, Route: e.Route, Source: string(e.Event.Source), EventID: string(e.Event.EventID),
			State: e.State, Attempt: e.Attempt, CreatedAt: e.At, ResponseStatus: e.ResponseStatus, Error: e.Error,
		})
	}
	return view
}

// viewOfRun returns the view of a run, with the counts of its preview.
func (m manyOrder) viewOfRun(counted runs.Preview, run runs.Run) any {
	if run.Action == ledger.ActionReplayEvent {
		view := replayOf(counted)
		view.Run, view.Replayed, view.Reopened, view.Stopped, view.Command = run.ID, run.Changed, run.Reopened, run.State != runs.Done, m.restOf(run)
		return view
	}
	view := effectsOf(counted)
	view.Run, view.Changed, view.Stopped, view.Command = run.ID, run.Changed, run.State != runs.Done, m.restOf(run)
	return view
}

func effectsOf(v runs.Preview) ManyView {
	return ManyView{
		Action: v.Order.Action, AsOf: v.Order.AsOf, Selected: v.Selected, InDoubt: v.InDoubt, Unrendered: v.Unrendered,
		Unclear: v.Unclear, WhyUnclear: v.WhyUnclear,
	}
}

func replayOf(v runs.Preview) ReplayView {
	return ReplayView{Action: v.Order.Action, Selected: v.Selected, Unclear: v.Unclear, WhyUnclear: v.WhyUnclear}
}
