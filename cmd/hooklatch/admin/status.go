package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
)

// overviewTimeout bounds the counting of the tables.
const overviewTimeout = 5 * time.Second

// status is what /api/overview returns.
type status struct {
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Now       time.Time `json:"now"`
	// Tables is null when there is nothing to count with, or counting failed.
	Tables       *tables       `json:"tables"`
	Error        string        `json:"error,omitempty"`
	Sources      []Source      `json:"sources"`
	Destinations []Destination `json:"destinations"`
}

// tables is outbox.Overview with every state named, also those without a row.
type tables struct {
	Events            []count    `json:"events"`
	Effects           []count    `json:"effects"`
	OldestReceived    *time.Time `json:"oldest_received"`
	OldestDue         *time.Time `json:"oldest_due"`
	DeliveryDaysAhead int        `json:"delivery_days_ahead"`
	// Withheld is true while no at_most_once effect starts.
	Withheld bool `json:"at_most_once_withheld"`
}

type count struct {
	State string `json:"state"`
	Count int64  `json:"count"`
}

func newTables(o outbox.Overview) *tables {
	t := &tables{
		DeliveryDaysAhead: o.DeliveryDaysAhead, OldestReceived: plainjson.OrNull(o.OldestReceived), OldestDue: plainjson.OrNull(o.OldestDue),
		Withheld: o.Withheld,
	}
	for _, outcome := range []inbox.Outcome{
		inbox.Received, inbox.Dispatched, inbox.Skipped, inbox.Failed, inbox.Held, inbox.Dropped, inbox.Imported,
	} {
		t.Events = append(t.Events, count{State: string(outcome), Count: o.Events[outcome]})
	}
	for _, state := range []ledger.EffectState{
		ledger.EffectPending, ledger.EffectStarted, ledger.EffectInDoubt, ledger.EffectDone,
		ledger.EffectFailed, ledger.EffectParked, ledger.EffectCancelled,
	} {
		t.Effects = append(t.Effects, count{State: string(state), Count: o.Effects[state]})
	}
	return t
}

// status counts at each call; an error is part of it, so that the rest is still
// said.
func (a *Admin) status(ctx context.Context) status {
	s := status{
		Version:      a.opts.Version,
		StartedAt:    a.startedAt,
		Now:          a.opts.Now(),
		Sources:      []Source{},
		Destinations: []Destination{},
	}
	if a.opts.Sources != nil {
		s.Sources = append(s.Sources, a.opts.Sources()...)
	}
	if a.opts.Destinations != nil {
		s.Destinations = append(s.Destinations, a.opts.Destinations()...)
	}
	if a.opts.Overview == nil {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, overviewTimeout)
	defer cancel()
	counted, err := a.opts.Overview.Overview(ctx)
	if err != nil {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "count events and effects", slog.String(logkey.Err, redact(err.Error())))
		s.Error = inShort(err)
		return s
	}
	s.Tables = newTables(counted)
	return s
}

// overview answers 503 when the tables cannot be counted, with the rest of the
// status all the same.
func (a *Admin) overview(w http.ResponseWriter, r *http.Request) {
	s := a.status(r.Context())
	code := http.StatusOK
	if s.Error != "" {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, s)
}
