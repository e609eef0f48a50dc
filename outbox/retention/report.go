package retention

import (
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// What is one kind of rows that retention deletes.
type What string

// The kinds, in the order in which they go.
const (
	Payloads   What = "payloads"   // deliveries, by the day
	Events     What = "events"     // of one source
	Imports    What = "imports"    // keys that were imported, of one source
	Guards     What = "guards"     // replay guards of one source
	Contents   What = "contents"   // content guards whose window is over
	Effects    What = "effects"    // that have ended
	Details    What = "details"    // links, attempts and transitions, by the day
	Replays    What = "replays"    // which events were replayed
	Versions   What = "versions"   // the newest effect applied to each object of latest_by
	Operations What = "operations" // what people ordered
)

// Part is what a run did, or would do, about one kind of rows.
type Part struct {
	What   What            `json:"what"`
	Source identity.Source `json:"source,omitzero"`
	// Before is when the time of what is older is over.
	Before time.Time `json:"before"`
	// Horizon is how far the runs before had come.
	Horizon time.Time `json:"horizon"`
	Rows    int64     `json:"rows"`
	// Bytes are those of partitions; of all other rows Plan alone has an estimate.
	Bytes int64 `json:"bytes"`
	// Kept counts what is past its time and stays, because unfinished work needs it.
	Kept int64 `json:"kept"`
	// Stopped says that it goes more than three days beyond Horizon.
	Stopped bool `json:"stopped,omitzero"`
}

// Report is what came of a run.
type Report struct {
	At    time.Time `json:"at"` // by the database's clock
	Parts []Part    `json:"parts"`
	// Stopped says that nothing was deleted: a person must let it go on.
	Stopped bool `json:"stopped"`
	// Complete says that nothing is left for the next run.
	Complete bool `json:"complete"`
}

func (r *run) report(stopped []*task) Report {
	report := Report{At: r.now, Stopped: len(stopped) > 0, Complete: len(stopped) == 0 && !r.ended}
	for _, t := range r.tasks {
		part := t.part()
		part.Stopped = slices.Contains(stopped, t)
		report.Parts = append(report.Parts, part)
	}
	return report
}
