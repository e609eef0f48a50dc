package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cells"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/senders"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep/witness"
)

// world holds everything that a sweep needs around its processes.
type world struct {
	*stage.Stage

	opts     Options
	pool     *pgxpool.Pool
	database string // URL
	tally    *tally
	calls    *receivers.Receivers
	listed   *listed.Sender
	url      string // URL of the destinations, the witness.Desk, and the list

	binary, actor string // paths
	gateways      []senders.Gateway
	health        []string            // URLs
	steady        []*lane             // lanes of the part without kills
	dying         []*lane             // all lanes, for the part with kills
	calm          []*programs.Program // programs that run after each part, without faults; the one actor among them performs all operator actions
	sent          []*senders.Senders  // senders of each part
	line          *riverLine          // line of the first worker
}

// workerLanes is the number of lanes of workers in the legs of kills.
const workerLanes = 3

// role describes one kind of actor.
type role struct {
	name   string
	lanes  int
	env    []string
	always string // failpoint rules for all processes of the role
	only   leg    // the visits that the role makes; nil for all
	calm   bool   // the role's first lane also runs after each part, without faults
}

func roles() []role {
	return []role{
		{name: "actor", lanes: 2, calm: true},
		{name: "lists", lanes: 2, env: []string{"SWEEP_ROLE=lists"}, only: readingLists},
		{name: "house", lanes: 2, env: []string{"SWEEP_ROLE=house"}, only: keepingHouse},
		{name: "mover", lanes: 2, env: []string{"SWEEP_ROLE=mover"}, only: movingSources},
		// All claims of these actors end without a response.
		{name: "doubtful", lanes: 3, env: []string{"SWEEP_ROLE=doubt"}, always: "claim.after_commit=error", only: takingBack},
	}
}

func (w *world) setUp(ctx context.Context) error {
	for into, pkg := range map[*string]string{&w.binary: "cmd/hooklatch", &w.actor: "cmd/hookstorm/sweep/actor"} {
		var err error
		if *into, err = programs.Build(ctx, programs.BuildOptions{
			Dir: w.opts.Root, Out: filepath.Join(w.Dir, filepath.Base(pkg)), Package: pkg, Tags: []string{"failpoint"},
		}); err != nil {
			return err
		}
	}
	if err := w.startDatabase(ctx); err != nil {
		return err
	}
	w.History.Add(history.Record{Who: "sweep", Kind: history.Note, Op: history.OpRun, Run: w.describe(ctx)})
	if err := w.serve(ctx); err != nil {
		return err
	}
	// A process plans the events that it accepts only if it is also a worker.
	for i, command := range []string{"gateway", "serve"} {
		if err := w.add(fmt.Sprintf("gateway-%d", i+1), command, w.database); err != nil {
			return err
		}
	}
	var urls []string
	for _, g := range w.gateways {
		urls = append(urls, g.URL)
	}
	var err error
	if w.listed, err = listed.New(listed.Options{History: w.History, Gateways: urls}); err != nil {
		return err
	}
	for i := range workerLanes {
		url, lacks := w.database, []string(nil)
		switch i {
		case 0:
			url = w.line.url
		case 1:
			lacks = []string{destExtra, sourceMain, sourceRepeats}
		}
		if err := w.add(fmt.Sprintf("worker-%d", i+1), "worker", url, lacks...); err != nil {
			return err
		}
	}
	for _, r := range roles() {
		for i := range r.lanes {
			if err := w.addActor(r, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// startDatabase starts a Postgres with Hooklatch's tables and the run's tables.
func (w *world) startDatabase(ctx context.Context) error {
	server, err := w.Postgres(ctx, cluster.Options{Settings: map[string]string{"max_connections": "400"}})
	if err != nil {
		return err
	}
	w.database = server.Primary("postgres")
	config, err := stage.Config(w.database)
	if err != nil {
		return err
	}
	if w.pool, err = w.Connect(ctx, config); err != nil {
		return err
	}
	if err := stage.Prepare(ctx, w.pool); err != nil {
		return err
	}
	if err := errors.Join(past.Prepare(ctx, w.pool), past.MakeRole(ctx, w.pool), cells.Prepare(ctx, w.pool)); err != nil {
		return err
	}
	proxy, err := w.Proxy(server.Address(), func() string { return w.database })
	if err != nil {
		return err
	}
	w.line = &riverLine{proxy: proxy.Proxy, tally: w.tally}
	w.line.url, err = proxy.URL("")
	return err
}

func (w *world) describe(ctx context.Context) *history.Run {
	commit, err := programs.Commit(ctx, w.opts.Root)
	if err != nil {
		commit = "unknown" // the sources may be a copy without a repository
	}
	run := history.Run{
		Seed: w.opts.Seed, Commit: commit, Settings: "sweep", Command: fmt.Sprintf("go -C cmd/hookstorm run . sweep --seed %d", w.opts.Seed),
	}
	return stage.Describe(run, destinations())
}

// serve starts the servers that processes call: the receivers, the object that one route reads,
// the provider's list, and the witness.Desk.
func (w *world) serve(ctx context.Context) (err error) {
	if w.calls, err = w.Receive(ctx, receivers.Options{Seed: w.opts.Seed, Destinations: destinations()}); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", w.calls)
	mux.HandleFunc("GET /"+destFresh, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(out, `{"version": 1}`) // fails only if the reader has closed the connection
	})
	mux.HandleFunc("/repos/", func(out http.ResponseWriter, r *http.Request) { w.listed.ServeHTTP(out, r) })
	mux.Handle("POST /witness/", http.StripPrefix("/witness", witness.NewDesk(w.History)))
	w.url, err = w.Serve(ctx, mux)
	return err
}

// place reserves addresses for a lane's processes and writes their configuration file.
func (w *world) place(name, databaseURL string, lacks ...string) (*stage.Place, error) {
	place, err := w.Place(name)
	if err != nil {
		return nil, err
	}
	set := settings{place.Settings(databaseURL, w.calls), lacks}
	set.ReceiverURL = w.url
	err = place.Write(fileText, set.cast())
	return place, err
}

// add creates a lane that runs a command of hooklatch.
func (w *world) add(name, command, databaseURL string, lacks ...string) error {
	place, err := w.place(name, databaseURL, lacks...)
	if err != nil {
		return err
	}
	w.health = append(w.health, place.Ready())
	if command != "worker" {
		w.gateways = append(w.gateways, senders.Gateway{Name: name, URL: "http://" + place.Gateway})
	}
	steady := !strings.HasSuffix(name, "-3")
	return w.addLane(place, &lane{}, steady, steady, programs.Options{
		Binary: w.binary, Args: []string{command, "--config", place.Config}, ReadyURL: place.Ready(),
	})
}

func (w *world) addActor(r role, n int) error {
	// Because of its handlers, the actor's configuration differs from all others, and may be the
	// newest. It omits sourceRepeats, so that gateways plan the events of this source anyway.
	place, err := w.place(fmt.Sprintf("%s-%d", r.name, n), w.database, sourceRepeats)
	if err != nil {
		return err
	}
	return w.addLane(place, &lane{always: r.always, only: r.only}, n == 1, n == 1 && r.calm, programs.Options{
		Binary: w.actor,
		Env:    append([]string{"SWEEP_CONFIG=" + place.Config, "SWEEP_DATABASE=" + w.database, "SWEEP_DESK=" + w.url + "/witness"}, r.env...),
	})
}

// addLane adds a lane. A steady lane takes part in the legs without kills. Few lanes are steady, so
// that each passes failpoints often. The program of a calm lane also runs after each part, without
// faults.
func (w *world) addLane(at *stage.Place, l *lane, steady, calm bool, o programs.Options) (err error) {
	o.Build, o.StopTimeout = "failpoint", stopsWithin
	if l.program, err = at.Program(o); err != nil {
		return err
	}
	l.tally = w.tally
	if at.Name == "worker-1" {
		l.line, w.line.program = w.line, l.program
	}
	w.dying = append(w.dying, l)
	if steady {
		w.steady = append(w.steady, l)
	}
	if calm {
		w.calm = append(w.calm, l.program)
	}
	return nil
}
