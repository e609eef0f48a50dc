// Command actor plays an application and its operators during a sweep: a worker with handlers,
// its own effects, and actions on effects, events and destinations. It is built with failpoints,
// and dies like any other process.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep/witness"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// The environment of the process.
const (
	configVariable   = "SWEEP_CONFIG" // configuration file of the actor's worker
	databaseVariable = "SWEEP_DATABASE"
	deskVariable     = "SWEEP_DESK" // URL of the witness.Desk, to which the process reports its operations
	roleVariable     = "SWEEP_ROLE" // empty: handle events and act as an operator
)

// The roles.
const (
	calm  = "calm"  // handle events, and finish all started work
	doubt = "doubt" // only claim effects, without ever getting a response
	house = "house" // only run retention
	lists = "lists" // only read the lists of providers
	mover = "mover" // only move a source between two cells
)

// maxConns is the size of each pool for the actor's own statements. The worker has its own
// connections.
const maxConns = 10

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
		os.Exit(1)
	}
}

// run plays the role of the process until ctx is done.
func run(ctx context.Context) (err error) {
	pool, err := connect(ctx, "")
	if err != nil {
		return err
	}
	defer pool.Close()
	others, err := connect(ctx, past.Role)
	if err != nil {
		return err
	}
	defer others.Close()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	exported := export.Directory(filepath.Join(filepath.Dir(os.Getenv(configVariable)), "export"))
	box, err := outbox.New(outbox.Options{Pool: pool, Export: exported, Logger: logger})
	if err != nil {
		return err
	}
	notOwning, err := outbox.New(outbox.Options{Pool: others, Export: exported, Logger: logger})
	if err != nil {
		return err
	}
	keeper, err := quarantine.NewKeeper(quarantine.KeeperOptions{Pool: pool, Logger: logger})
	if err != nil {
		return err
	}
	refused, err := quarantine.New(quarantine.Options{Pool: pool, Ledger: box.Ledger()})
	if err != nil {
		return err
	}
	alerts, err := alarm.NewBook(pool, "", box.Ledger())
	if err != nil {
		return err
	}
	logins, err := signin.NewLogins(pool, "")
	if err != nil {
		return err
	}
	a := &actor{runs: box.Runs(), alerts: alerts, logins: logins, pool: pool, box: box, keeper: keeper, quarantine: refused, witness: witness.New(os.Getenv(deskVariable))}
	group, acting := errgroup.WithContext(ctx)
	switch os.Getenv(roleVariable) {
	case doubt:
		group.Go(func() error { return a.doubt(acting) })
	case house:
		group.Go(func() error { return keepHouse(acting, past.New(pool, box.Retention(), notOwning.Retention())) })
	case lists:
		group.Go(func() error { return readLists(acting, box, logger) })
	case mover:
		group.Go(func() error { return moveSources(acting, pool) })
	case calm:
		group.Go(func() error { return readLists(acting, box, logger) })
		group.Go(func() error { return work(acting, logger) })
		group.Go(func() error { return a.settleDown(acting) })
		group.Go(func() error { return a.releaseAll(acting) })
	default:
		group.Go(func() error { return work(acting, logger) })
		group.Go(func() error { return a.act(acting) })
	}
	err = group.Wait()
	return errors.Join(err, keeper.Stop(context.WithoutCancel(ctx)), box.Stop(context.WithoutCancel(ctx)), notOwning.Stop(context.WithoutCancel(ctx)))
}

// connect connects to the sweep's database, as another role if role is set.
func connect(ctx context.Context, role string) (*pgxpool.Pool, error) {
	pools, err := pgxpool.ParseConfig(os.Getenv(databaseVariable))
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	pools.MaxConns = maxConns
	if role != "" {
		pools.ConnConfig.RuntimeParams["role"] = role
	}
	commit.PreparePool(pools)
	pool, err := pgxpool.NewWithConfig(ctx, pools)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pool, nil
}

// work runs a worker with a handler until ctx is done.
func work(ctx context.Context, logger *slog.Logger) error {
	cfg, err := config.Load(os.Getenv(configVariable), os.LookupEnv)
	if err != nil {
		return err
	}
	return app.Run(ctx, app.Options{
		Config: cfg, Worker: true, Version: "actor", Logger: logger,
		Handle: func(w *worker.Worker, _ *outbox.Outbox) { w.Handle("handled", "*", handle) },
	}, nil, nil)
}

// handle writes one row for each event, and gives up some events until the sweep heals.
func handle(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
	id := string(e.EventID)
	if hopeless := strings.ContainsAny(id[len(id)-1:], "37"); hopeless && os.Getenv(roleVariable) != calm {
		return worker.GiveUp("the sweep requests it")
	}
	_, err := tx.Exec(ctx, `INSERT INTO torture.handled (source, event_id, generation) VALUES ($1, $2, $3)`,
		string(e.Source), id, e.Generation)
	return err
}
