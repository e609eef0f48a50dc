package admin

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
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

//go:embed page/status.html
var statusHTML string

//go:embed page/style.css
var styleCSS []byte

// status is what the page shows and /api/overview returns.
type status struct {
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Now       time.Time `json:"now"`
	// Tables is null when there is nothing to count with, or counting failed.
	Tables       *tables       `json:"tables"`
	Error        string        `json:"error,omitempty"`
	Sources      []Source      `json:"sources"`
	Destinations []Destination `json:"destinations"`

	RiverUI    string `json:"-"`
	HasMetrics bool   `json:"-"`
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
	// Bad marks a state that waits for a person.
	Bad bool `json:"-"`
}

func newTables(o outbox.Overview) *tables {
	t := &tables{
		DeliveryDaysAhead: o.DeliveryDaysAhead, OldestReceived: plainjson.OrNull(o.OldestReceived), OldestDue: plainjson.OrNull(o.OldestDue),
		Withheld: o.Withheld,
	}
	for _, outcome := range []inbox.Outcome{
		inbox.Received, inbox.Dispatched, inbox.Skipped, inbox.Failed, inbox.Held, inbox.Dropped, inbox.Imported,
	} {
		n := o.Events[outcome]
		bad := n > 0 && (outcome == inbox.Failed || outcome == inbox.Held)
		t.Events = append(t.Events, count{State: string(outcome), Count: n, Bad: bad})
	}
	for _, state := range []ledger.EffectState{
		ledger.EffectPending, ledger.EffectStarted, ledger.EffectInDoubt, ledger.EffectDone,
		ledger.EffectFailed, ledger.EffectParked, ledger.EffectCancelled,
	} {
		n := o.Effects[state]
		bad := n > 0 && (state == ledger.EffectFailed || state == ledger.EffectParked)
		t.Effects = append(t.Effects, count{State: string(state), Count: n, Bad: bad})
	}
	return t
}

// status counts at each call; an error is part of it, so that the page still
// shows the rest.
func (a *Admin) status(ctx context.Context) status {
	s := status{
		Version:      a.opts.Version,
		StartedAt:    a.startedAt,
		Now:          a.opts.Now(),
		Sources:      []Source{},
		Destinations: []Destination{},
		RiverUI:      a.opts.RiverUI,
		HasMetrics:   a.opts.Metrics != nil,
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

func (a *Admin) page(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if err := a.template.Execute(&body, a.status(r.Context())); err != nil {
		a.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "render status page", slog.Any(logkey.Err, err))
		writeJSON(w, http.StatusInternalServerError, problem{"internal error"})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = body.WriteTo(w)
}

func (a *Admin) style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(styleCSS)
}

func newPageTemplate() *template.Template {
	return template.Must(template.New("status").Funcs(template.FuncMap{
		"ago": func(now time.Time, then time.Time) string { return now.Sub(then).Round(time.Second).String() },
	}).Parse(statusHTML))
}
