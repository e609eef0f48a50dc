package torture

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/senders"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// progressEvery is how often a person who reads along is told how it goes.
const progressEvery = 10 * time.Second

const (
	connectTimeout = 5 * time.Second
	// ownConns are those past the proxy: for faults, and to see what is unfinished.
	ownConns = 20
)

// world is everything that one run starts.
type world struct {
	opts     Options
	dir      string
	commit   string
	left     []string // faults that were left out, and why
	teardown teardown

	history  *history.Writer
	chosen   []nemesis.Fault
	faults   faultCounts
	binaries binaries

	database  database
	primary   *pgxpool.Pool // past the proxy, with no faults of the network
	proxy     *pgproxy.Proxy
	receivers *receivers.Receivers
	services  services
	listed    *listed.Sender
	listURL   string
	endListed func()              // and waits for what is under way
	deployed  scenario.Deployment // the last; of the lane of processes, and then of repair

	senders     *senders.Senders
	application *application.Traffic
	operator    *application.Operator
	housekeeper *housekeeper
}

// newWorld makes the directory and begins the history.
func newWorld(opts Options) (*world, error) {
	w := &world{opts: opts, dir: opts.Dir}
	var err error
	if w.chosen, err = w.kinds(); err != nil {
		return nil, err
	}
	if w.dir == "" {
		dir, err := os.MkdirTemp("", "hookstorm-*")
		if err != nil {
			return nil, fmt.Errorf("make a directory for the run: %w", err)
		}
		w.dir = dir
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil { //nolint:gosec // the account of an own server passes through it
		return nil, fmt.Errorf("make the directory of the run: %w", err)
	}
	if opts.Dir == "" { // made for us alone
		if err := os.Chmod(w.dir, 0o755); err != nil { //nolint:gosec // as above
			return nil, fmt.Errorf("open the directory of the run: %w", err)
		}
	}
	file, err := os.Create(filepath.Join(w.dir, HistoryFile))
	if err != nil {
		return nil, fmt.Errorf("begin the history: %w", err)
	}
	w.history = history.NewWriter(file, w.faults.watch)
	w.teardown.add("history", func(context.Context) error { return errors.Join(w.history.Flush(), file.Close()) })
	return w, nil
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
		{"start the processes", w.startServices},
		{"prepare the traffic", w.prepareTraffic},
	} {
		w.sayf("%s", part.name)
		if err := part.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

func (w *world) startProxy(context.Context) (err error) {
	if w.proxy, err = pgproxy.Start(pgproxy.Options{Target: w.database.address()}); err != nil {
		return err
	}
	w.teardown.add("proxy", func(context.Context) error { w.proxy.Stop(); return nil })
	return nil
}

// lineURL is the URL of the database through the proxy's listener of that name.
func (w *world) lineURL(name string) (string, error) {
	listener, err := w.proxy.Listener(name)
	if err != nil {
		return "", err
	}
	return listener.URL(w.database.url())
}

func (w *world) startReceivers(ctx context.Context) error {
	w.receivers = receivers.New(receivers.Options{History: w.history, Seed: int64(w.opts.Seed)}) //nolint:gosec // any number is a seed
	if err := w.receivers.Start(ctx); err != nil {
		return err
	}
	w.teardown.add("receivers", func(context.Context) error { w.receivers.Stop(); return nil })
	return nil
}

// startList serves the list of the sender that never tries again. Gateways are told to it
// before any process starts.
func (w *world) startList(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.listed.ServeHTTP(out, r) }), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until Close
	}()
	w.listURL = "http://" + listener.Addr().String()
	w.teardown.add("list", func(context.Context) error {
		err := server.Close()
		<-served
		return err
	})
	return nil
}

// startListed has the sender with the list make events until endListed.
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
	w.teardown.add("sender with a list", func(context.Context) error { w.endListed(); return nil })
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
	if w.listed, err = listed.New(listed.Options{History: w.history, Gateways: gateways}); err != nil {
		return err
	}
	w.teardown.add("processes", w.services.stop)
	return w.services.start(ctx)
}

// newService prepares a process, with a configuration and a line to the database
// of its own.
func (w *world) newService(role role, number int) (*service, error) {
	name := fmt.Sprintf("%s-%d", role, number)
	line, err := w.lineURL(name)
	if err != nil {
		return nil, err
	}
	addresses, err := freeport.Addresses(2)
	if err != nil {
		return nil, err
	}
	mail := w.receivers.MailAddr()
	config, err := programs.NewConfiguration(filepath.Join(w.dir, name+".yaml"), scenario.Settings{
		DatabaseURL: secret.New(line), GatewayListen: addresses[0], AdminListen: addresses[1],
		ReceiverURL: w.receivers.URL(), ListURL: w.listURL, MailHost: mail.Addr().String(), MailPort: int(mail.Port()), Production: w.opts.Production, Mine: w.opts.Mine,
		Accepts: role == roleGateway,
	})
	if err != nil {
		return nil, err
	}
	s := &service{name: name, role: role, line: name, config: config, url: "http://" + addresses[0], history: w.history, programs: map[string]*programs.Program{}}
	for _, b := range w.binaries.of(role) {
		s.programs[b.name], err = programs.New(programs.Options{
			Name: name, Build: b.label, Binary: b.path, Args: append(b.args, "--config", config.Path()),
			Log: filepath.Join(w.dir, name+"."+b.name+".log"), ReadyURL: "http://" + addresses[1] + "/readyz", History: w.history,
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// prepareTraffic makes what sends and orders; storm starts it.
func (w *world) prepareTraffic(ctx context.Context) error {
	var gateways []senders.Gateway
	for _, s := range w.services.of(roleGateway) {
		gateways = append(gateways, senders.Gateway{Name: s.name, URL: s.url})
	}
	seed := int64(w.opts.Seed) //nolint:gosec // any number is a seed
	var err error
	w.senders, err = senders.New(senders.Options{History: w.history, Gateways: gateways, Seed: seed, Rate: w.opts.Rate})
	if err != nil {
		return err
	}
	line, err := w.lineURL("application")
	if err != nil {
		return err
	}
	w.application, err = application.NewTraffic(ctx, application.TrafficOptions{History: w.history, DatabaseURL: secret.New(line), Seed: seed})
	if err != nil {
		return err
	}
	w.teardown.add("application", func(context.Context) error { w.application.Stop(); return nil })
	line, err = w.lineURL("operator")
	if err != nil {
		return err
	}
	w.operator, err = application.NewOperator(ctx, application.OperatorOptions{History: w.history, DatabaseURL: secret.New(line), Seed: seed})
	if err != nil {
		return err
	}
	w.teardown.add("operator", w.operator.Stop)
	if line, err = w.lineURL("housekeeper"); err != nil {
		return err
	}
	if w.housekeeper, err = newHousekeeper(ctx, line); err != nil {
		return err
	}
	w.teardown.add("housekeeper", w.housekeeper.stop)
	return nil
}

// repair ends every fault, and waits until all processes run as they should.
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

// load is how many deliveries are under way, and how many were acknowledged in the
// last second.
func (w *world) load() (inFlight, acked int) {
	return w.senders.InFlight(), w.senders.AckedInLast(time.Second)
}

// endTraffic begins nothing new, and waits until all that was begun is acknowledged.
func (w *world) endTraffic(ctx context.Context) error {
	w.application.Stop()
	w.endListed()
	return errors.Join(w.senders.Stop(ctx), w.operator.Rest(ctx), w.housekeeper.end(ctx))
}

// phase writes down that the run goes on to another phase.
func (w *world) phase(p history.Phase) {
	w.history.Add(history.Record{Who: "hookstorm", Kind: history.Note, Op: history.OpPhase, Phase: p})
	w.sayf("%s", p)
}

// progress says how it goes.
func (w *world) progress(left time.Duration) {
	faults, kinds := Fired(w.faults.all())
	inFlight, acked := w.load()
	w.sayf("%s left: %d acknowledged (%d in the last second, %d in flight), %d faults of %d kinds",
		left.Round(time.Second), w.senders.Acked(), acked, inFlight, faults, kinds)
}

func (w *world) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(w.opts.Out, format+"\n", args...) // nothing rests on it
}
