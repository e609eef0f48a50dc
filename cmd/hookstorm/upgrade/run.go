package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// Options configure Run.
type Options struct {
	// Binaries are the programs of both versions. Required. See Build.
	Binaries Binaries
	// Dir keeps configurations and logs. If empty, Run uses a temporary directory, and removes it
	// if it finds nothing.
	Dir string
	// Events is the minimum number of events in each direction: during the upgrade, and during
	// the return to the previous version. Defaults to DefaultEvents.
	Events int
	// Rate is the number of events per second. Defaults to DefaultRate.
	Rate float64
	// Patience bounds each wait until all work is done. Defaults to a minute.
	Patience time.Duration
	// Planted are statements that run after the migrations, as a part of the upgrade. They plant
	// mistakes, which the run must find.
	Planted []string
	// Out receives progress messages. If nil, they are dropped.
	Out io.Writer
}

// Binaries are the paths of the programs of both versions.
type Binaries struct{ Previous, Current string }

// Build builds hooklatch twice, into dir: from the commit ref, and from the source tree root.
func Build(ctx context.Context, root, ref, dir string) (b Binaries, err error) {
	tree, remove, err := programs.Worktree(ctx, root, ref)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if b.Previous, err = programs.Build(ctx, programs.BuildOptions{Dir: tree, Out: filepath.Join(dir, "hooklatch.previous")}); err != nil {
		return b, err
	}
	b.Current, err = programs.Build(ctx, programs.BuildOptions{Dir: root, Out: filepath.Join(dir, "hooklatch.current")})
	return b, err
}

// Report is the result of a run.
type Report struct {
	Upgraded, Returned int      // events that were acknowledged in each direction
	Found              []string // lost, doubled and unfinished work, and logged errors
	Took               time.Duration
}

// Defaults of Options.
const (
	DefaultEvents = 20_000
	DefaultRate   = 500
)

const (
	// replacements is the number of processes that are replaced, one by one.
	replacements = 4
	// connections is the number of connections that send events.
	connections = 16
)

// run is an upgrade in progress.
type run struct {
	opts     Options
	stage    *stage.Stage
	pool     *pgxpool.Pool
	url      string
	receiver *receiver
	fleet    []*service // the gateways and workers that are replaced
	beside   []*service // the processes that migrate the database
	client   *load.Client
	acked    []string // ids of all acknowledged events
	report   Report
}

// Run starts two gateways and two workers of the previous version, and lets two processes of the
// current version migrate the database. Then it replaces the processes one by one, and puts the
// previous version back without a migration. It sends events all the time. Run returns an error if
// a step fails. Lost, doubled or unfinished work and logged errors are in the report. If such work
// is found after a step, Run skips the remaining steps.
func Run(ctx context.Context, opts Options) (_ Report, err error) {
	began := time.Now()
	opts.Events, opts.Rate = cmp.Or(opts.Events, DefaultEvents), cmp.Or(opts.Rate, DefaultRate)
	opts.Patience = cmp.Or(opts.Patience, time.Minute)
	r := &run{opts: opts}
	if r.stage, err = stage.New(stage.Options{Who: "upgrade", Dir: opts.Dir, Out: opts.Out}); err != nil {
		return r.report, err
	}
	defer func() { err = errors.Join(err, r.stage.Stop(context.WithoutCancel(ctx))) }()
	if err := r.begin(ctx); err != nil {
		return r.report, err
	}
	defer r.client.Close()
	for _, step := range []func(context.Context) error{r.migrate, r.upgrade, r.goBack} {
		if err := step(ctx); err != nil {
			return r.report, err
		}
		if err := r.settle(ctx); err != nil {
			return r.report, err
		}
		if len(r.report.Found) > 0 {
			break
		}
	}
	if err := r.stage.End(ctx); err != nil {
		return r.report, err
	}
	if err := r.readLogs(); err != nil {
		return r.report, err
	}
	if len(r.report.Found) == 0 {
		r.stage.Forget()
	}
	r.report.Took = time.Since(began).Round(time.Second)
	return r.report, nil
}

// begin starts Postgres, the receiver and the previous version, and connects the sender.
func (r *run) begin(ctx context.Context) error {
	server, err := r.stage.Postgres(ctx, cluster.Options{Durable: true, Settings: map[string]string{"max_connections": "300"}})
	if err != nil {
		return err
	}
	r.url = server.Primary("postgres")
	config, err := stage.Config(r.url)
	if err != nil {
		return err
	}
	if r.pool, err = r.stage.Connect(ctx, config); err != nil {
		return err
	}
	r.receiver = &receiver{calls: map[string]int{}}
	address, err := r.stage.Serve(ctx, r.receiver)
	if err != nil {
		return err
	}
	for i, role := range []string{roleGateway, roleWorker, roleWorker, roleGateway, roleServe, roleServe} {
		s, err := r.newService(fmt.Sprintf("%s-%d", role, i+1), role, address)
		switch {
		case err != nil:
			return err
		case role == roleServe:
			r.beside = append(r.beside, s)
		default:
			r.fleet = append(r.fleet, s)
		}
	}
	if err := r.command(ctx, r.opts.Binaries.Previous, "migrate", "up"); err != nil {
		return err
	}
	var gateways []string
	for _, s := range r.fleet {
		if err := s.start(ctx, s.previous); err != nil {
			return err
		}
		if s.role == roleGateway {
			gateways = append(gateways, s.place.Gateway)
		}
	}
	r.client, err = load.Dial(ctx, load.Options{Addresses: gateways, Connections: connections, Source: load.Source})
	return err
}

// migrate migrates the database while the previous version keeps running on it. Two processes of
// the current version start together, migrate the database, serve, and stop. Then it executes
// Options.Planted.
func (r *run) migrate(ctx context.Context) error {
	r.stage.Sayf("the previous version works, and two processes of the current version start and migrate the database")
	_, err := r.during(ctx, r.opts.Events/replacements, func(ctx context.Context) error {
		var starts errgroup.Group
		for _, s := range r.beside {
			starts.Go(func() error { return s.start(ctx, s.current) })
		}
		if err := starts.Wait(); err != nil {
			return err
		}
		for _, s := range r.beside {
			if err := s.running.Stop(ctx); err != nil {
				return err
			}
		}
		return stage.Execute(ctx, r.url, r.opts.Planted...)
	})
	return err
}

// upgrade replaces the processes one by one. The worker that leads River comes last.
func (r *run) upgrade(ctx context.Context) (err error) {
	order, err := r.leaderLast(ctx)
	if err != nil {
		return err
	}
	for _, s := range order {
		r.stage.Sayf("%s becomes the current version", s.place.Name)
		n, err := r.during(ctx, r.opts.Events/replacements, func(ctx context.Context) error { return s.replace(ctx, s.current) })
		if err != nil {
			return err
		}
		r.report.Upgraded += n
	}
	return nil
}

// goBack puts the previous version back, on the migrated database.
func (r *run) goBack(ctx context.Context) (err error) {
	order, err := r.leaderLast(ctx)
	if err != nil {
		return err
	}
	for _, s := range order {
		r.stage.Sayf("%s becomes the previous version", s.place.Name)
		n, err := r.during(ctx, r.opts.Events/replacements, func(ctx context.Context) error { return s.replace(ctx, s.previous) })
		if err != nil {
			return err
		}
		r.report.Returned += n
	}
	return nil
}

// during calls the function do, and meanwhile sends events at Options.Rate, for at least the time
// that n events need. It returns the number of events sent.
func (r *run) during(ctx context.Context, n int, do func(ctx context.Context) error) (sent int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		if err := do(ctx); err != nil {
			cancel(err)
		}
		left := time.Duration(float64(n+connections)/r.opts.Rate*float64(time.Second)) - time.Since(began)
		select {
		case <-time.After(left):
		case <-ctx.Done():
		}
		close(end)
	}()
	sending, err := r.client.Steady(ctx, r.opts.Rate, end)
	if err != nil {
		cancel(err)
	}
	<-done
	for _, one := range sending.Sent {
		r.acked = append(r.acked, one.ID)
	}
	return len(sending.Sent), context.Cause(ctx)
}
