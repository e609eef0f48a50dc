package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

type runsPage struct {
	view

	List     []runs.Run
	Older    string // query for the next page; empty if there is none
	Commands []command
}

func (p runsPage) data() (any, error) {
	shown := struct {
		rows[any]

		More bool   `json:"more"`
		Next string `json:"next,omitzero"`
	}{rows: rows[any]{Rows: []any{}}, More: p.Older != ""}
	for _, run := range p.List {
		shown.Rows = append(shown.Rows, life.OfRun(run))
	}
	if shown.More {
		shown.Next = strconv.FormatInt(p.List[len(p.List)-1].ID, 10)
	}
	return shown, nil
}

// Name returns a run's name, or its description if it has no name.
func (runsPage) Name(r runs.Run) string { return nameOfRun(r) }

// listRuns lists bulk runs, newest first.
func listRuns(r *request) error {
	var before int64
	if text := r.URL.Query().Get("before"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return &invalid{"Place", text, "it must be the number of a run"}
		}
	}
	most, err := r.rowsAsked()
	if err != nil {
		return err
	}
	list, err := r.runs.List(r.Context(), before, most+1)
	if err != nil {
		return err
	}
	for i, run := range list {
		list[i] = r.opts.Sight.ConcealRun(r.person, run)
	}
	shown := runsPage{
		view: r.view("runs", "Bulk runs"), List: list[:min(len(list), most)],
		Commands: []command{{"list", "This list", "hooklatch runs list"}},
	}
	if len(list) > most {
		shown.Older = "?" + url.Values{"before": {strconv.FormatInt(list[most-1].ID, 10)}}.Encode()
	}
	return r.render(http.StatusOK, "runs", shown)
}

// runPage shows one run.
type runPage struct {
	view
	runs.Run

	Verb     desk.Verb
	Listed   string // path of the list with the run's filter
	Commands []command
}

func (p runPage) data() (any, error) { return life.OfRun(p.Run), nil }

// subjectOfRun returns a run as the subject of operator actions.
func subjectOfRun(run runs.Run) subject {
	of := desk.Target{Run: run.ID}
	return subject{
		Target: of, State: string(run.State), This: of.String(), Of: nameOfRun(run) + ", " + pretty.Run(run.State).Word, Back: runPath(run.ID), pace: run.PerSecond,
		noSuch: noSuchRun(strconv.FormatInt(run.ID, 10)),
		wrong: func(v desk.Verb) error {
			if !run.State.Ended() {
				return nil
			}
			return &runs.StateError{Action: v.Action, State: run.State}
		},
	}
}

// runSubject returns the run in the URL as the subject of operator actions.
func runSubject(r *request) (subject, error) {
	run, err := readRun(r)
	return subjectOfRun(run), err
}

// Offers returns the currently possible verbs.
func (p runPage) Offers() []offer { return subjectOfRun(p.Run).offers(desk.Runs) }

// Percent returns the share of the counted total that the run has processed, at most 99, or -1 if
// nothing was counted. It returns 100 if the run is done.
func (p runPage) Percent() int64 {
	switch {
	case p.Run.State == runs.Done:
		return 100
	case p.Total <= 0:
		return -1
	}
	return min(99, p.Selected*100/p.Total)
}

// Ends returns the time at which the run will be done at its pace, or the zero time if that is
// unknown.
func (p runPage) Ends() time.Time {
	if p.Run.State != runs.Running || p.PerSecond <= 0 || p.Total <= p.Selected {
		return time.Time{}
	}
	return p.Now.Add(time.Duration(float64(p.Total-p.Selected) / p.PerSecond * float64(time.Second)))
}

// Path returns the path of the run's page, relative to the console's path.
func (p runPage) Path() string { return runPath(p.ID) }

func noSuchRun(id string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "Run not found",
		text: fmt.Sprintf("No run %s exists. All runs are listed under Bulk runs.", id),
	}
}

// readRun reads the run in the URL.
func readRun(r *request) (runs.Run, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return runs.Run{}, noSuchRun(r.PathValue("id"))
	}
	run, err := r.runs.Get(r.Context(), id)
	if errors.Is(err, runs.ErrNoRun) {
		err = noSuchRun(r.PathValue("id"))
	}
	return r.opts.Sight.ConcealRun(r.person, run), err
}

// showRun shows a run's progress.
func showRun(r *request) error {
	run, err := readRun(r)
	if err != nil {
		return err
	}
	id := strconv.FormatInt(run.ID, 10)
	shown := runPage{view: r.view("runs", "Run "+id), Run: run, Verb: desk.By(run.Action), Listed: listOfRun(run)}
	shown.Commands = []command{{"show", "Show this run", "hooklatch runs show " + id}}
	for _, o := range shown.Offers() {
		if !o.TakesPace {
			shown.Commands = append(shown.Commands, command{o.Name, o.Button, "hooklatch runs " + o.Name + " " + id})
		}
	}
	return r.render(http.StatusOK, "run", shown)
}

// listOfRun returns the path of the list with the run's filter. It omits the filter by state,
// because the run changes the states. If the run has ended, listOfRun also omits the payload
// search, because the searched values are no longer stored.
func listOfRun(run runs.Run) string {
	values := url.Values{}
	if run.OfRefused() {
		for name, value := range map[string]string{"source": string(run.Quarantine.Source), "reason": run.Quarantine.Reason} {
			if value != "" {
				values.Set(name, value)
			}
		}
		return "/quarantine?" + values.Encode()
	}
	path, given := "/effects", find.Given(run.Effects)
	if run.OfEvents() {
		path, given = "/events", find.Given(run.Events)
	}
	for _, g := range given {
		gone := run.State.Ended() && (g.Name == "when" || g.Name == "contains")
		if !gone && g.Name != "state" { // the run changes the state
			values.Set(g.Name, g.Text)
		}
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}
