package life

import (
	"encoding/json"
	"time"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Run is what programs are shown of an order about many.
type Run struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name,omitzero"`
	Action    ledger.Action   `json:"action"`
	Filter    json.RawMessage `json:"filter"`
	Most      int64           `json:"most,omitzero"`       // it may select no more
	PerSecond float64         `json:"per_second,omitzero"` // it changes no more. 0: as fast as it goes
	Who       string          `json:"who"`
	Role      string          `json:"role,omitzero"`
	Via       string          `json:"via"`
	Reason    string          `json:"reason,omitzero"`
	CreatedAt time.Time       `json:"created_at"`
	State     runs.State      `json:"state"`
	Since     time.Time       `json:"since"`          // it is in this state
	Worked    bool            `json:"worked"`         // a process is at it now
	Error     string          `json:"error,omitzero"` // why it failed, or stopped by itself
	Total     int64           `json:"total,omitzero"` // what was counted before, if it was

	runs.Counts
}

// OfRun is what programs are shown of a run.
func OfRun(r runs.Run) Run {
	filter, err := r.Record()
	if err != nil { // a year beyond 9999, which Postgres would not have given back
		filter = json.RawMessage(`{}`)
	}
	return Run{
		ID: r.ID, Name: r.Name, Action: r.Action, Filter: filter, Most: r.Most, PerSecond: r.PerSecond,
		Who: r.By.Who, Role: r.By.Role, Via: r.By.Via, Reason: r.By.Reason, CreatedAt: r.CreatedAt,
		State: r.State, Since: r.Since, Worked: r.Worked, Error: r.Error, Total: r.Total, Counts: r.Counts,
	}
}
