package life

import (
	"encoding/json"
	"time"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Run is the JSON of a bulk run.
type Run struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name,omitzero"`
	Action    ledger.Action   `json:"action"`
	Filter    json.RawMessage `json:"filter"`
	Most      int64           `json:"most,omitzero"`       // maximum number of rows that the run may select
	PerSecond float64         `json:"per_second,omitzero"` // maximum number of changes per second; 0 for no limit
	Who       string          `json:"who"`
	Role      string          `json:"role,omitzero"`
	Via       string          `json:"via"`
	Reason    string          `json:"reason,omitzero"`
	CreatedAt time.Time       `json:"created_at"`
	State     runs.State      `json:"state"`
	Since     time.Time       `json:"since"`          // time at which the run entered this state
	Worked    bool            `json:"worked"`         // true if a process is working on the run now
	Error     string          `json:"error,omitzero"` // reason why the run failed, stopped at its limit, or cannot continue now
	Total     int64           `json:"total,omitzero"` // number of rows counted before the start; 0 if not all were counted

	runs.Counts
}

// OfRun returns the JSON of a run.
func OfRun(r runs.Run) Run {
	filter, err := r.Record()
	if err != nil { // only for a time after the year 9999, which no stored run has
		filter = json.RawMessage(`{}`)
	}
	return Run{
		ID: r.ID, Name: r.Name, Action: r.Action, Filter: filter, Most: r.Most, PerSecond: r.PerSecond,
		Who: r.By.Who, Role: r.By.Role, Via: r.By.Via, Reason: r.By.Reason, CreatedAt: r.CreatedAt,
		State: r.State, Since: r.Since, Worked: r.Worked, Error: r.Error, Total: r.Total, Counts: r.Counts,
	}
}
