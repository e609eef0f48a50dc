package application

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// clients is the maximum number of simultaneous transactions.
	clients = 8
	// enqueueTimeout bounds one transaction, so that Stop returns.
	enqueueTimeout = 10 * time.Second
)

// TrafficOptions configure a Traffic.
type TrafficOptions struct {
	// History gets an OpEnqueue for every transaction. Required.
	History *history.Writer
	// DatabaseURL is the application's database. Required.
	DatabaseURL secret.Value
	Seed        int64
	// Rate is the number of transactions per second. Defaults to 20.
	Rate float64
}

// Traffic runs the application's own transactions. Each transaction writes a row and enqueues an
// effect, and then commits, rolls back, or ends with an unknown outcome. Use a Traffic in the order
// NewTraffic, Start, Stop.
type Traffic struct {
	opts      TrafficOptions
	pool      *pgxpool.Pool
	box       *outbox.Outbox
	cancel    context.CancelFunc
	running   sync.WaitGroup
	committed atomic.Int64
}

// NewTraffic returns a Traffic without connecting to the database.
func NewTraffic(ctx context.Context, opts TrafficOptions) (*Traffic, error) {
	if opts.History == nil || opts.DatabaseURL.IsZero() || opts.Rate < 0 {
		return nil, errors.New("traffic options: History and DatabaseURL are required, and Rate must not be negative")
	}
	if opts.Rate == 0 {
		opts.Rate = 20
	}
	t := &Traffic{opts: opts}
	var err error
	if t.pool, err = NewPool(ctx, opts.DatabaseURL, clients, "hookstorm application"); err != nil {
		return nil, fmt.Errorf("traffic of the application: %w", err)
	}
	if t.box, err = outbox.New(outbox.Options{Pool: t.pool}); err != nil {
		t.pool.Close()
		return nil, fmt.Errorf("traffic of the application: %w", err)
	}
	return t, nil
}

// NewPool creates a pool whose connections record a COMMIT that may not have reached the standby.
func NewPool(ctx context.Context, url secret.Value, conns int32, name string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url.Reveal())
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // the cause quotes the URL
	}
	config.MaxConns = conns
	config.ConnConfig.ConnectTimeout = 3 * time.Second
	config.ConnConfig.RuntimeParams["application_name"] = name
	config.ConnConfig.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.Routine == "SyncRepWaitForLSN" {
			conn.CustomData()[noteNotReplicated] = true
		}
	}
	commit.PreparePool(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("make a connection pool: %w", err)
	}
	return pool, nil
}

// Start starts the transactions. They continue after ctx is done, until Stop is called.
func (t *Traffic) Start(ctx context.Context) {
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for i := range clients {
		t.running.Go(func() { t.client(ctx, i) })
	}
}

// Stop prevents new transactions, waits for the current ones, and closes the connections. It may be
// called again.
func (t *Traffic) Stop() {
	if t.cancel != nil {
		t.cancel()
	}
	t.running.Wait()
	t.pool.Close()
}

// Committed returns the number of transactions that committed according to the COMMIT response. A
// transaction and its retries count once.
func (t *Traffic) Committed() int64 { return t.committed.Load() }

// client runs one transaction after another until ctx is done.
func (t *Traffic) client(ctx context.Context, number int) {
	//nolint:gosec // the numbers must be repeatable, not secret
	random := rand.New(rand.NewPCG(uint64(t.opts.Seed), uint64(number)))
	between := time.Duration(float64(time.Second) * clients / t.opts.Rate)
	for n := 1; retry.Wait(ctx, between/2+time.Duration(random.Int64N(int64(between)+1))) == nil; n++ {
		e := newEnqueue(random, fmt.Sprintf("app-%d-%d-%d", t.opts.Seed, number, n))
		kind := t.enqueue(e)
		// After an unknown outcome the client retries with the same key. If the first try was
		// committed, the retry must create nothing.
		for range 3 {
			if kind != history.Unknown || retry.Wait(ctx, between) != nil {
				break
			}
			e.fate = commits
			kind = t.enqueue(e)
		}
		if kind == history.OK && !e.rollsBack() {
			t.committed.Add(1)
		}
	}
}
