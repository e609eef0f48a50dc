package sweep

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep/witness"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// stage is all that a sweep needs around its processes.
type stage struct {
	opts    Options
	history *history.Writer
	tally   *tally
	calls   *receivers.Receivers
	server  *http.Server // of the destinations, of the desk of witnesses, and of the list
	listed  *listed.Sender
	url     string
	serving sync.WaitGroup

	binary, actor string // paths
	programs      []*programs.Program
	gateways      []string            // URLs
	health        []string            // URLs
	steady        []*lane             // of processes that live
	dying         []*lane             // of processes that are killed: all
	calm          []*programs.Program // that heal: one actor among them, whose orders nobody else gives
	sent          []*senders
	line          *riverLine // of the first worker
}

// How many lanes there are of each kind, in the legs of kills.
const (
	gatewayLanes = 2
	workerLanes  = 3
)

// role is what actors do.
type role struct {
	name   string
	lanes  int
	env    []string
	always string // rules that all its processes get
	only   leg    // the visits it is for; nil: all
	calm   bool   // the first of them heals in the end
}

func roles() []role {
	return []role{
		{name: "actor", lanes: 2, calm: true},
		{name: "lists", lanes: 2, env: []string{"SWEEP_ROLE=lists"}, only: readingLists},
		{name: "house", lanes: 2, env: []string{"SWEEP_ROLE=house"}, only: keepingHouse},
		// All claims of these end without an answer.
		{name: "doubtful", lanes: 3, env: []string{"SWEEP_ROLE=doubt"}, always: "claim.after_commit=error", only: takingBack},
	}
}

func (s *stage) setUp(ctx context.Context) error {
	var err error
	if s.binary, err = programs.Build(ctx, programs.BuildOptions{
		Dir: s.opts.Root, Out: filepath.Join(s.opts.Dir, "hooklatch"), Tags: []string{"failpoint"},
	}); err != nil {
		return err
	}
	if s.actor, err = programs.Build(ctx, programs.BuildOptions{
		Dir: s.opts.Root, Out: filepath.Join(s.opts.Dir, "actor"), Package: "cmd/hookstorm/sweep/actor", Tags: []string{"failpoint"},
	}); err != nil {
		return err
	}
	s.history.Add(history.Record{Who: "sweep", Kind: history.Note, Op: history.OpRun, Run: s.describe(ctx)})
	if err := s.serve(ctx); err != nil {
		return err
	}
	for i := range gatewayLanes {
		if err := s.add(fmt.Sprintf("gateway-%d", i+1), "gateway", settings{}); err != nil {
			return err
		}
	}
	if s.listed, err = listed.New(listed.Options{History: s.history, Gateways: s.gateways}); err != nil {
		return err
	}
	if s.line, err = newRiverLine(s.opts.DatabaseURL, s.tally); err != nil {
		return err
	}
	for i := range workerLanes {
		set := settings{Lacking: i == 1}
		if i == 0 {
			set.DatabaseURL = s.line.url
		}
		if err := s.add(fmt.Sprintf("worker-%d", i+1), "worker", set); err != nil {
			return err
		}
	}
	for _, r := range roles() {
		for i := range r.lanes {
			if err := s.addActor(r, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe says what the run is.
func (s *stage) describe(ctx context.Context) *history.Run {
	commit, err := programs.Commit(ctx, s.opts.Root)
	if err != nil {
		commit = "unknown" // a copy without its repository can be swept as well
	}
	run := &history.Run{
		Seed: s.opts.Seed, Commit: commit, Settings: "sweep", Policies: make(map[string]string),
		Command: fmt.Sprintf("go -C cmd/hookstorm run . sweep --seed %d", s.opts.Seed),
	}
	for _, d := range destinations() {
		run.Policies[d.Name] = string(d.Policy)
		if d.Kind == "http" {
			run.Honour = append(run.Honour, d.Name)
		}
	}
	return run
}

// serve starts the other ends: the receivers, the object that one route reads, and
// the desk of witnesses.
func (s *stage) serve(ctx context.Context) error {
	s.calls = receivers.New(receivers.Options{History: s.history, Seed: s.opts.Seed, Destinations: destinations()})
	if err := s.calls.Start(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for calls: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.calls)
	mux.HandleFunc("GET /"+destFresh, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"version": 1}`) // the reader has gone
	})
	mux.HandleFunc("/repos/", func(w http.ResponseWriter, r *http.Request) { s.listed.ServeHTTP(w, r) })
	mux.Handle("POST /witness/", http.StripPrefix("/witness", witness.NewDesk(s.history)))
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	s.url = "http://" + listener.Addr().String()
	s.serving.Go(func() { _ = s.server.Serve(listener) }) // until close
	return nil
}

// configure writes the configuration of a process.
func (s *stage) configure(name string, set *settings) (path string, err error) {
	addresses, err := freeport.Addresses(2)
	if err != nil {
		return "", err
	}
	if set.DatabaseURL.IsZero() {
		set.DatabaseURL = s.opts.DatabaseURL
	}
	set.ReceiverURL = s.url
	set.GatewayListen, set.AdminListen = addresses[0], addresses[1]
	set.MailHost, set.MailPort = s.calls.MailAddr().Addr().String(), int(s.calls.MailAddr().Port())
	path = filepath.Join(s.opts.Dir, name+".yaml")
	return path, set.write(path)
}

// add makes a program of the binary, and its lanes.
func (s *stage) add(name, command string, set settings) error {
	path, err := s.configure(name, &set)
	if err != nil {
		return err
	}
	p, err := programs.New(programs.Options{
		Name: name, Build: "failpoint", Binary: s.binary, Args: []string{command, "--config", path},
		Log: filepath.Join(s.opts.Dir, name+".log"), ReadyURL: "http://" + set.AdminListen + "/readyz",
		StopTimeout: stopsWithin, History: s.history,
	})
	if err != nil {
		return err
	}
	s.health = append(s.health, "http://"+set.AdminListen+"/readyz")
	if command == "gateway" {
		s.gateways = append(s.gateways, "http://"+set.GatewayListen)
	}
	steady := !strings.HasSuffix(name, "-3")
	s.addLane(&lane{program: p}, steady, steady)
	return nil
}

func (s *stage) addActor(r role, n int) error {
	name := fmt.Sprintf("%s-%d", r.name, n)
	path, err := s.configure(name, new(settings))
	if err != nil {
		return err
	}
	p, err := programs.New(programs.Options{
		Name: name, Build: "failpoint", Binary: s.actor,
		Env: append([]string{"SWEEP_CONFIG=" + path, "SWEEP_DATABASE=" + s.opts.DatabaseURL.Reveal(), "SWEEP_DESK=" + s.url + "/witness"}, r.env...),
		Log: filepath.Join(s.opts.Dir, name+".log"), StopTimeout: stopsWithin, History: s.history,
	})
	if err != nil {
		return err
	}
	s.addLane(&lane{program: p, always: r.always, only: r.only}, n == 1, n == 1 && r.calm)
	return nil
}

// addLane adds a lane. A steady one takes part where processes live: few of them, so that
// each passes places often. One that is calm heals in the end.
func (s *stage) addLane(l *lane, steady, calm bool) {
	s.programs = append(s.programs, l.program)
	l.tally = s.tally
	if l.program.Name() == "worker-1" {
		l.line, s.line.program = s.line, l.program
	}
	s.dying = append(s.dying, l)
	if steady {
		s.steady = append(s.steady, l)
	}
	if calm {
		s.calm = append(s.calm, l.program)
	}
}

func (s *stage) phase(p history.Phase) {
	s.history.Add(history.Record{Who: "sweep", Kind: history.Note, Op: history.OpPhase, Phase: p})
}

// traffic is what goes on around the processes of one leg.
type traffic struct {
	senders *senders
	around  sync.WaitGroup
	giveUp  context.CancelFunc
}

const senderCount = 4

// traffic begins to send, to stir and to ask for the health of processes until ctx is
// done; what is being sent then goes on until it is acknowledged.
func (s *stage) traffic(ctx, parent context.Context, pace time.Duration) *traffic {
	patient, giveUp := context.WithCancel(parent)
	t := &traffic{giveUp: giveUp, senders: &senders{history: s.history, gateways: s.gateways, pace: pace}}
	if len(s.sent) > 0 {
		t.senders.made.Store(s.sent[len(s.sent)-1].made.Load())
	}
	s.sent = append(s.sent, t.senders)
	t.senders.start(ctx, patient, senderCount)
	t.around.Go(func() { stir(ctx, s.opts.Pool, s.calls) })
	t.around.Go(func() { ask(ctx, s.health) })
	t.around.Go(func() { s.listed.Run(ctx) })
	return t
}

// ask asks processes again and again whether they are ready, which they find out with
// a transaction.
func ask(ctx context.Context, urls []string) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, url := range urls {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				continue
			}
			if answer, err := client.Do(request); err == nil {
				answer.Body.Close()
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *stage) acked() int64 {
	var n int64
	for _, sent := range s.sent {
		n += sent.acked.Load()
	}
	return n
}

// quietWithin bounds how long what was accepted may take to its end: leases of 11 s,
// pauses that are looked after every 10 s, retries, and hundreds of destinations that
// are retired one after another.
const quietWithin = 5 * time.Minute

// heal ends all faults, starts sound processes, and waits until nothing is left to
// do. Then it stops them.
func (s *stage) heal(ctx context.Context, t *traffic) error {
	s.phase(history.PhaseHeal)
	t.around.Wait()
	if err := rescue(ctx, s.opts.Pool); err != nil {
		return fmt.Errorf("rescue jobs: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, quietWithin)
	defer cancel()
	for _, p := range s.calm {
		if err := p.Start(ctx, "SWEEP_ROLE=calm"); err != nil {
			return err
		}
	}
	delivered := make(chan struct{})
	go func() {
		t.senders.all.Wait()
		close(delivered)
	}()
	select {
	case <-delivered:
	case <-ctx.Done():
		t.giveUp()
		<-delivered
		return errors.New("deliveries were not acknowledged although all faults had ended")
	}
	t.giveUp()
	if err := s.endPast(ctx); err != nil {
		return err
	}
	quiet := s.untilQuiet(ctx)
	s.phase(history.PhaseQuiet)
	return errors.Join(quiet, s.stopAll(context.WithoutCancel(ctx)))
}

// endPast has retention delete all that actors made of the past.
func (s *stage) endPast(ctx context.Context) error {
	box, err := outbox.New(outbox.Options{Pool: s.opts.Pool})
	if err != nil {
		return err
	}
	err = past.New(s.opts.Pool, box.Retention()).End(ctx, ledger.Operator{Who: "sweep", Via: "sweep"})
	return errors.Join(err, box.Stop(context.WithoutCancel(ctx)))
}

// untilQuiet waits until every event and every effect has come to its end.
func (s *stage) untilQuiet(ctx context.Context) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, err := s.unfinished(ctx)
		if err == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			// The checker says which, and their stories.
			s.sayf("not at an end although all faults have ended: %v %v", left, err)
			return nil
		}
	}
}

// unfinished counts what is left to do.
func (s *stage) unfinished(ctx context.Context) ([]string, error) {
	rows, err := s.opts.Pool.Query(ctx, unfinishedText)
	if err != nil {
		return nil, err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	missing, err := s.listed.Missing(ctx, s.opts.Pool)
	if missing > 0 {
		left = append(left, fmt.Sprintf("%d events of the list", missing))
	}
	return left, err
}

func (s *stage) stopAll(ctx context.Context) error {
	var stopping sync.WaitGroup
	errs := make([]error, len(s.programs))
	for i, p := range s.programs {
		stopping.Go(func() { errs[i] = p.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

// close ends all there is.
func (s *stage) close() error {
	var errs []error
	for _, p := range s.programs {
		errs = append(errs, p.Kill())
	}
	if s.line != nil {
		s.line.proxy.Stop()
	}
	if s.server != nil {
		errs = append(errs, s.server.Close())
	}
	if s.calls != nil {
		s.calls.Stop()
	}
	s.serving.Wait()
	return errors.Join(errs...)
}
