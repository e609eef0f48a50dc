package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/life"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

type runsPage struct {
	view

	List     []runs.Run
	Older    string // query of the page that goes on. Empty: that is all.
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

// Name is what a run is called.
func (runsPage) Name(r runs.Run) string { return nameOfRun(r) }

// listRuns lists bulk runs, the newest first.
func (c *Console) listRuns(w http.ResponseWriter, r *http.Request) error {
	var before int64
	if text := r.URL.Query().Get("before"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return &invalid{"Place", text, "it is the number of a run"}
		}
	}
	list, err := c.runs.List(r.Context(), before, rowsOnPage+1)
	if err != nil {
		return err
	}
	for i, run := range list {
		list[i] = c.concealRun(r, run)
	}
	shown := runsPage{
		view: c.view(r, "runs", "Bulk runs"), List: list[:min(len(list), rowsOnPage)],
		Commands: []command{{"list", "The same list", "hooklatch runs list"}},
	}
	if len(list) > rowsOnPage {
		shown.Older = "?" + url.Values{"before": {strconv.FormatInt(list[rowsOnPage-1].ID, 10)}}.Encode()
	}
	return c.render(w, http.StatusOK, "runs", shown)
}

// concealRun takes what a run looks for away from those who may not look for it: with the
// number that it selected it would be an answer.
func (c *Console) concealRun(r *http.Request, run runs.Run) runs.Run {
	if c.refuseSearch(r, run.Content(), run.Source()) != nil {
		run.Order = run.Concealed(run.By.RequestID)
	}
	return run
}

// runPage is a run.
type runPage struct {
	view
	runs.Run

	Verb     runVerb
	Listed   string // path of the list that it was ordered from
	Commands []command
}

func (p runPage) data() (any, error) { return life.OfRun(p.Run), nil }

// Orders are what can be ordered now.
func (p runPage) Orders() []order {
	switch p.Run.State {
	case runs.Running:
		return []order{runOrders[runPause], runOrders[runPace], runOrders[runStop]}
	case runs.Paused:
		return []order{runOrders[runResume], runOrders[runPace], runOrders[runStop]}
	case runs.Stopped, runs.Done, runs.Failed:
	}
	return nil
}

// Percent is how much of what was counted is behind it, and -1 when nobody counted.
func (p runPage) Percent() int64 {
	switch {
	case p.Run.State == runs.Done:
		return 100
	case p.Total <= 0:
		return -1
	}
	return min(99, p.Selected*100/p.Total)
}

// Ends is when it will be done at its pace. Zero: nobody knows.
func (p runPage) Ends() time.Time {
	if p.Run.State != runs.Running || p.PerSecond <= 0 || p.Total <= p.Selected {
		return time.Time{}
	}
	return p.Now.Add(time.Duration(float64(p.Total-p.Selected) / p.PerSecond * float64(time.Second)))
}

// Path is where its page is, below the path of the console.
func (p runPage) Path() string { return runPath(p.ID) }

func noSuchRun(id string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "There is no such run",
		text: fmt.Sprintf("Nobody has ordered a run %s. Those that were are listed under Replays.", id),
	}
}

// readRun reads the one that a URL names.
func (c *Console) readRun(r *http.Request) (runs.Run, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return runs.Run{}, noSuchRun(r.PathValue("id"))
	}
	run, err := c.runs.Get(r.Context(), id)
	if errors.Is(err, runs.ErrNoRun) {
		err = noSuchRun(r.PathValue("id"))
	}
	return c.concealRun(r, run), err
}

// showRun shows how far a run has come.
func (c *Console) showRun(w http.ResponseWriter, r *http.Request) error {
	run, err := c.readRun(r)
	if err != nil {
		return err
	}
	id := strconv.FormatInt(run.ID, 10)
	shown := runPage{view: c.view(r, "runs", "Run "+id), Run: run, Verb: verbOf(run.Action), Listed: listOfRun(run)}
	shown.Commands = []command{{"show", "Show it on a terminal", "hooklatch runs show " + id}}
	for _, o := range shown.Orders() {
		if o.Name != runOrders[runPace].Name {
			shown.Commands = append(shown.Commands, command{o.Name, o.Button + " it on a terminal", "hooklatch runs " + o.Name + " " + id})
		}
	}
	return c.render(w, http.StatusOK, "run", shown)
}

// listOfRun is the list of what a run was ordered for, as it is now: what it has changed
// is in another state.
func listOfRun(run runs.Run) string {
	values := url.Values{}
	path, given := "/effects", find.Given(run.Effects)
	if run.OfEvents() {
		path, given = "/events", find.Given(run.Events)
	}
	for _, g := range given {
		gone := run.State.Ended() && (g.Name == "when" || g.Name == "contains")
		if !gone && g.Name != "state" { // what it changed is in another state
			values.Set(g.Name, g.Text)
		}
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

// The orders on runs.
const (
	runPause = iota
	runResume
	runPace
	runStop
)

var runOrders = []order{
	{
		Name: "pause", Button: "Pause", Done: "Paused and recorded.",
		Means: "Nothing more is done after the batch at hand, until it is resumed. What was done stays done.",
		do:    onRun((*runs.Runs).Pause),
	},
	{
		Name: "resume", Button: "Resume", Done: "Resumed and recorded.",
		Means: "It goes on where it ended.",
		do:    onRun((*runs.Runs).Resume),
	},
	{
		Name: "pace", Button: "Change the pace", Done: "The pace is changed and recorded.",
		Means: "It goes on at this pace from its next batch on.",
	},
	{
		Name: "stop", Button: "Stop", Done: "Stopped and recorded.",
		Means: "It ends after the batch at hand, for good. What was done stays done. The rest can be ordered anew.",
		do:    onRun((*runs.Runs).Stop),
	},
}

func onRun(do func(*runs.Runs, context.Context, int64, ledger.Operator) error) func(*Console, context.Context, string, ledger.Operator) error {
	return func(c *Console, ctx context.Context, target string, by ledger.Operator) error {
		id, err := strconv.ParseInt(target, 10, 64)
		if err != nil {
			return noSuchRun(target)
		}
		return do(c.runs, ctx, id, by)
	}
}
