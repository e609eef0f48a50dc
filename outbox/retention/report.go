package retention

import (
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// What is one kind of rows that retention deletes.
type What string

// The kinds of rows, in the order in which they are deleted.
const (
	Payloads   What = "payloads"   // deliveries and search values, one day at a time
	Events     What = "events"     // events of one source
	Imports    What = "imports"    // imported keys of one source
	Guards     What = "guards"     // replay guards of one source
	Contents   What = "contents"   // content guards past their window
	Effects    What = "effects"    // effects that have ended
	Details    What = "details"    // links, attempts and transitions, one day at a time
	Replays    What = "replays"    // records of replays
	Versions   What = "versions"   // the newest effect applied to each object of latest_by
	Operations What = "operations" // operator actions, bulk runs, backfill passes and redeliveries
)

// Part is the result of a run, or of its plan, for one kind of rows.
type Part struct {
	What   What            `json:"what"`
	Source identity.Source `json:"source,omitzero"`
	// Before is the time before which rows have expired.
	Before time.Time `json:"before"`
	// Horizon is the time up to which earlier runs have deleted rows.
	Horizon time.Time `json:"horizon"`
	Rows    int64     `json:"rows"`
	// Bytes is the size of the deleted partitions, including partitions of which only needed rows
	// stay. For all other rows, only Plan sets Bytes, to an estimate.
	Bytes int64 `json:"bytes"`
	// Kept counts rows that have expired but stay because unfinished work needs them.
	Kept int64 `json:"kept"`
	// Stopped is true if the run would go more than three days beyond Horizon for these rows.
	Stopped bool `json:"stopped,omitzero"`
}

// Report is the result of a run, or of its plan.
type Report struct {
	At    time.Time `json:"at"` // by the database's clock
	Parts []Part    `json:"parts"`
	// Stopped is true if nothing was deleted: an operator must allow the run to continue.
	Stopped bool `json:"stopped"`
	// Complete is true if nothing is left for the next run.
	Complete bool `json:"complete"`
	// Exporting is true if the run ran out of time while it exported a day. The next run continues.
	Exporting bool `json:"exporting,omitzero"`
}

func (r *run) report(stopped []*task) Report {
	report := Report{At: r.now, Stopped: len(stopped) > 0, Complete: len(stopped) == 0 && !r.ended, Exporting: r.exporting}
	for _, t := range r.tasks {
		part := t.part()
		part.Stopped = slices.Contains(stopped, t)
		report.Parts = append(report.Parts, part)
	}
	return report
}
