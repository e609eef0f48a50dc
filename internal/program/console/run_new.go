package console

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/forecast"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

const (
	// previewFor is the maximum time that a preview counts before it responds.
	previewFor = 700 * time.Millisecond
	// surelyFor is the maximum time for determining whether a run has more than moreThan rows.
	surelyFor = 2 * time.Second
)

// newRunPage is the preview of a bulk run.
type newRunPage struct {
	view
	runs.Preview

	Verb     desk.Verb
	Query    url.Values // query of the run
	Wrong    string     // why the form was refused; empty if it was accepted
	Form     url.Values // the form as sent
	Most     int64      // maximum number of rows for the caller's role; 0 for no limit
	Once     string     // id of the request, so that a form that is sent twice starts one run
	Commands []command
	Routes   []string // routes to which the run may be limited
	// Forecasts predict the replays of the sample, by event.
	Forecasts map[identity.EventRef]forecast.Forecast
}

// Kept returns the query of the run without its route.
func (p newRunPage) Kept() url.Values {
	kept := maps.Clone(p.Query)
	kept.Del("route")
	return kept
}

// Forecast predicts the replay of one event of the sample, or returns "" if that is not possible.
func (p newRunPage) Forecast(ref identity.EventRef) string {
	if came, known := p.Forecasts[ref]; known {
		return came.String()
	}
	return ""
}

// Action returns the path that starts the run, relative to the console's path.
func (p newRunPage) Action() string { return "/runs/new?" + p.Query.Encode() }

// Onward returns the query that continues the count.
func (p newRunPage) Onward() string {
	next := url.Values{"after": {p.Place}, "counted": {countsText(p.Counts)}}
	maps.Copy(next, p.Query)
	return "?" + next.Encode()
}

// TooMany reports whether the run is too large for the caller's role.
func (p newRunPage) TooMany() bool { return p.Most > 0 && p.Selected > p.Most }

// Typed reports whether the user must type the verb: the run has more than moreThan rows, or its
// rows have not all been counted.
func (p newRunPage) Typed() bool { return p.More || p.Selected > moreThan }

// Slowly returns the run's duration at 50 changes per second, or "" for less than 2 seconds.
func (p newRunPage) Slowly() string {
	took := time.Duration(p.Selected) * time.Second / 50
	if took < 2*time.Second {
		return ""
	}
	return clock.Roughly(took)
}

func (p newRunPage) data() (any, error) {
	if p.Wrong != "" {
		return nil, &problem{status: http.StatusUnprocessableEntity, heading: "This run was not started", text: p.Wrong}
	}
	type sampled struct {
		Effect  string    `json:"idempotency_key,omitzero"`
		Source  string    `json:"source,omitzero"`
		EventID string    `json:"event_id,omitzero"`
		Type    string    `json:"event_type,omitzero"`
		State   string    `json:"state"`
		At      time.Time `json:"at"`

		Forecast *forecast.Forecast `json:"forecast,omitempty"`
	}
	shown := struct {
		runs.Counts

		Words string    `json:"words"`
		Order string    `json:"order"` // path that starts the run
		More  bool      `json:"more"`
		Next  string    `json:"next,omitzero"` // path that continues the count
		Most  int64     `json:"most"`
		Rows  []sampled `json:"sample"`
	}{Counts: p.Counts, Words: p.Order.Words(), Order: "/api" + p.Action(), More: p.More, Most: p.Most, Rows: []sampled{}}
	if p.More {
		shown.Next = "/api/runs/new" + p.Onward()
	}
	for _, s := range p.Sample {
		row := sampled{s.Effect, string(s.Event.Source), string(s.Event.EventID), s.EventType, s.State, s.At, nil}
		if came, known := p.Forecasts[s.Event]; known {
			row.Forecast = &came
		}
		shown.Rows = append(shown.Rows, row)
	}
	return shown, nil
}

// previewRun shows a run's selection, with the form that starts the run.
func previewRun(r *request) error {
	o, q, err := runQuery(r)
	if err != nil {
		return err
	}
	asked := r.URL.Query()
	return showPreview(r, http.StatusOK, o, q, runs.Bite{After: asked.Get("after"), Counts: countsOf(asked.Get("counted")), For: previewFor}, newRunPage{})
}

func showPreview(r *request, status int, o runs.Order, q query, bite runs.Bite, shown newRunPage) error {
	found, err := r.runs.Preview(r.Context(), o, bite)
	if err != nil {
		return refusedRun(err)
	}
	shown.Preview, shown.Verb, shown.Most, shown.Query = found, desk.By(o.Action), o.Most, fixedQuery(found.Order, q)
	shown.Once = uuid.NewString()
	if shown.Verb.TakesRoute && bite.After == "" { // a count that continues shows no sample
		shown.Routes = r.routeNames()
		if shown.Forecasts, err = r.forecasts(found.Order, found.Sample); err != nil {
			return err
		}
	}
	shown.view = r.view("runs", "Bulk "+shown.Verb.Name)
	shown.Commands = []command{{"run", "The same run; without --yes the command only counts", commandOfRun(found.Order, q)}}
	return r.render(status, "run_new", shown)
}

// refusedRun converts the error of a run that cannot start into a *problem if the run is too large.
// It passes any other error to unreadable.
func refusedRun(err error) error {
	if many, is := errors.AsType[*runs.ManyError](err); is {
		return &problem{
			status: http.StatusForbidden, heading: "This run is too large for your role",
			text: fmt.Sprintf("The filter selects more than %d rows, which requires the role admin. Narrow the filter, or ask an admin to start the run. admin.max_run in the configuration sets the limit.", many.Most),
		}
	}
	return unreadable(err)
}

// beginRun starts the previewed run.
func beginRun(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	o, q, err := runQuery(r)
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	again := func(why string) error {
		return showPreview(r, http.StatusUnprocessableEntity, o, q, runs.Bite{For: previewFor}, newRunPage{Wrong: why, Form: r.PostForm})
	}
	o.Name = strings.TrimSpace(r.PostForm.Get("name"))
	o.InDoubt = r.PostForm.Get("looked") != "" && !o.OfEvents()
	o.NewKeys = r.PostForm.Get("new_keys") != "" && o.Action == ledger.ActionReplayEvent
	if o.PerSecond, err = paceOf(r.PostForm); err != nil {
		return again(err.Error() + ".")
	}
	if len(o.Name) > runs.MaxNameLen {
		return again(fmt.Sprintf("The name is longer than %d bytes.", runs.MaxNameLen))
	}
	if o.InDoubt && reason == "" {
		return again("Give a reason for repeating effects that may have been applied. The reason is recorded.")
	}
	if word := desk.By(o.Action).Name; !r.asData && !strings.EqualFold(strings.TrimSpace(r.PostForm.Get("typed")), word) {
		counted, err := r.runs.Preview(r.Context(), o, runs.Bite{Most: moreThan, For: surelyFor})
		if err != nil {
			return err
		}
		if counted.More || counted.Selected > moreThan {
			return again(fmt.Sprintf("This run selects more than %d %s. Type the word %s to start it.", moreThan, desk.By(o.Action).On, word))
		}
	}
	run, err := r.runs.Begin(r.Context(), o, r.operator(reason))
	if errors.Is(err, commit.ErrUnavailable) {
		return err
	}
	if err != nil {
		return refusedRun(err)
	}
	r.seeOther(runPath(run.ID), "begun")
	return nil
}

// runPath returns a run's path, relative to the console's path.
func runPath(id int64) string { return "/runs/" + strconv.FormatInt(id, 10) }
