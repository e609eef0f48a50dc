package torture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/senders"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/internal/redisserver"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// progressEvery is the interval of progress messages.
const progressEvery = 10 * time.Second

const (
	connectTimeout = 5 * time.Second
	// ownConns is the number of connections that bypass the proxy, for faults and for checks of
	// unfinished work.
	ownConns = 20
)

// world holds everything that one run starts.
type world struct {
	*stage.Stage

	opts     Options
	commit   string
	left     []string // omitted faults, with the reasons
	chosen   []nemesis.Fault
	faults   faultCounts
	measured availability
	binaries binaries

	database  database
	primary   *pgxpool.Pool // bypasses the proxy and thus the network faults
	proxy     *stage.Line
	receivers *receivers.Receivers
	redis     *redisserver.Server // nil without Options.Redis
	services  services
	listed    *listed.Sender
	listURL   string
	endListed func()              // stops the sender with the list and waits for its current work
	deployed  scenario.Deployment // the last deployment; used by the process lane, and then by repair

	senders     *senders.Senders
	application *application.Traffic
	operator    *application.Operator
	housekeeper *housekeeper
}

// newWorld creates the directory and begins the history.
func newWorld(opts Options) (_ *world, err error) {
	w := &world{opts: opts}
	if w.chosen, err = w.kinds(); err != nil {
		return nil, err
	}
	if w.opts.MinFaults == 0 {
		w.opts.MinFaults = w.minFaults()
	}
	w.Stage, err = stage.New(stage.Options{Who: "hookstorm", Dir: opts.Dir, Watch: w.watch, Out: opts.Out})
	return w, err
}

func (w *world) watch(r history.Record) {
	w.faults.watch(r)
	w.measured.watch(r)
}

// start starts everything but the traffic.
func (w *world) start(ctx context.Context) error {
	for _, part := range []struct {
		name  string
		start func(ctx context.Context) error
	}{
		{"build the programs", w.build},
		{"start Postgres", w.startDatabase},
		{"start the proxy", w.startProxy},
		{"start the receivers", w.startReceivers},
		{"start the API of a sender", w.startList},
		{"start Redis", w.startRedis},
		{"start the processes", w.startServices},
		{"prepare the traffic", w.prepareTraffic},
	} {
		w.Sayf("%s", part.name)
		if err := part.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

func (w *world) startProxy(context.Context) (err error) {
	w.proxy, err = w.Proxy(w.database.address(), w.database.url)
	return err
}

func (w *world) startReceivers(ctx context.Context) (err error) {
	w.receivers, err = w.Receive(ctx, receivers.Options{Seed: int64(w.opts.Seed)}) //nolint:gosec // any number is a seed
	return err
}

// startList serves the list of the sender that never retries. The configurations contain the list's
// URL, so startList runs before any process starts.
func (w *world) startList(ctx context.Context) (err error) {
	w.listURL, err = w.Serve(ctx, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.listed.ServeHTTP(out, r) }))
	return err
}

// startListed makes the sender with the list create events until endListed is called.
func (w *world) startListed(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.listed.Run(ctx)
	}()
	w.endListed = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.OnStop("sender with a list", func(context.Context) error { w.endListed(); return nil })
}

// startServices writes the configurations and starts all processes.
func (w *world) startServices(ctx context.Context) error {
	for role, n := range map[role]int{roleGateway: w.opts.Gateways, roleWorker: w.opts.Workers, roleApplication: 1} {
		for i := range n {
			s, err := w.newService(role, i+1)
			if err != nil {
				return err
			}
			w.services.all = append(w.services.all, s)
		}
	}
	w.services.sort()
	var gateways []string
	for _, s := range w.services.of(roleGateway) {
		gateways = append(gateways, s.url)
	}
	var err error
	if w.listed, err = listed.New(listed.Options{History: w.History, Gateways: gateways}); err != nil {
		return err
	}
	w.OnStop("processes", w.services.stop)
	return w.services.start(ctx)
}

// newService prepares a process with its own configuration and its own listener at the proxy.
func (w *world) newService(role role, number int) (*service, error) {
	name := fmt.Sprintf("%s-%d", role, number)
	line, err := w.proxy.URL(name)
	if err != nil {
		return nil, err
	}
	place, err := w.Place(name)
	if err != nil {
		return nil, err
	}
	if w.database.patroni != nil && number%2 == 0 {
		line = w.database.patroni.Hosts(w.database.name) // without the proxy and HAProxy
	}
	settings := place.Settings(line, w.receivers)
	settings.ListURL, settings.Production, settings.Mine, settings.Accepts = w.listURL, w.opts.Production, w.mine(), role == roleGateway
	config, err := programs.NewConfiguration(place.Config, settings)
	if err != nil {
		return nil, err
	}
	s := &service{name: name, role: role, line: name, config: config, url: "http://" + place.Gateway, history: w.History, programs: map[string]*programs.Program{}}
	for _, b := range w.binaries.of(role, number) {
		s.programs[b.name], err = place.Program(programs.Options{
			Build: b.label, Binary: b.path, Args: append(b.args, "--config", config.Path()),
			Log: filepath.Join(w.Dir, name+"."+b.name+".log"), ReadyURL: place.Ready(),
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// prepareTraffic creates the senders, the application, the operator and the housekeeper. The method
// storm starts them.
func (w *world) prepareTraffic(ctx context.Context) error {
	var gateways []senders.Gateway
	for _, s := range w.services.of(roleGateway) {
		gateways = append(gateways, senders.Gateway{Name: s.name, URL: s.url})
	}
	seed := int64(w.opts.Seed) //nolint:gosec // any number is a seed
	var err error
	w.senders, err = senders.New(senders.Options{History: w.History, Gateways: gateways, Seed: seed, Rate: w.opts.Rate})
	if err != nil {
		return err
	}
	line, err := w.proxy.URL("application")
	if err != nil {
		return err
	}
	w.application, err = application.NewTraffic(ctx, application.TrafficOptions{History: w.History, DatabaseURL: secret.New(line), Seed: seed})
	if err != nil {
		return err
	}
	w.OnStop("application", func(context.Context) error { w.application.Stop(); return nil })
	line, err = w.proxy.URL("operator")
	if err != nil {
		return err
	}
	w.operator, err = application.NewOperator(ctx, application.OperatorOptions{History: w.History, DatabaseURL: secret.New(line), Seed: seed})
	if err != nil {
		return err
	}
	w.OnStop("operator", w.operator.Stop)
	if line, err = w.proxy.URL("housekeeper"); err != nil {
		return err
	}
	if w.housekeeper, err = newHousekeeper(ctx, line); err != nil {
		return err
	}
	w.OnStop("housekeeper", w.housekeeper.stop)
	return nil
}

// repair ends every fault, deploys the last configuration, and waits until all processes are ready.
func (w *world) repair(ctx context.Context) error {
	w.proxy.DisarmAll()
	w.calmReceivers()
	for _, s := range w.services.all {
		s.nextStart(start{})
	}
	if err := w.services.ready(ctx); err != nil {
		return err
	}
	if err := w.deployLast(ctx); err != nil {
		return err
	}
	return w.services.ready(ctx)
}

// load returns the number of deliveries in progress, and the number acknowledged in the last
// second.
func (w *world) load() (inFlight, acked int) {
	return w.senders.InFlight(), w.senders.AckedInLast(time.Second)
}

// endTraffic stops all new traffic and the operator's random actions. It waits until all sent
// events are acknowledged, except events of senders that never retry. It also waits until no
// destination is paused, and until retention has deleted the past days.
func (w *world) endTraffic(ctx context.Context) error {
	w.application.Stop()
	w.endListed()
	return errors.Join(w.senders.Stop(ctx), w.operator.Rest(ctx), w.housekeeper.end(ctx))
}

// progress prints a progress message.
func (w *world) progress(left time.Duration) {
	faults, kinds := Fired(w.faults.all())
	inFlight, acked := w.load()
	w.Sayf("%s left: %d acknowledged (%d in the last second, %d in flight), %d faults of %d kinds",
		left.Round(time.Second), w.senders.Acked(), acked, inFlight, faults, kinds)
}
