package application

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// orderTimeout bounds one operator action, so that Stop returns.
	orderTimeout = 20 * time.Second
	// longestPause is the approximate maximum time for which a destination stays paused.
	longestPause = 3 * time.Second
)

// OperatorOptions configure an Operator.
type OperatorOptions struct {
	// History gets an OpOrder for every operator action. Required.
	History *history.Writer
	// DatabaseURL is the database for actions through the Go API. Required.
	DatabaseURL secret.Value
	Seed        int64
	// Rate is the number of operator actions per second. Defaults to 2.
	Rate float64
	// Binary is a hooklatch program that carries out about a quarter of the actions, with the
	// configuration file Config. If empty, all actions use the Go API.
	Binary, Config string
}

// way carries out operator actions, through the Go API or on the command line.
type way interface {
	// carryOut performs the action and stores the known parts of its result in the parameter order.
	// It returns a notDoneError if the action was not performed, or if it is unknown whether the
	// action was performed.
	carryOut(ctx context.Context, order *history.Order, reason string) error
}

//go:embed blocking.sql
var blockingSQL string

// Operator performs operator actions at random. Use an Operator in the order NewOperator, Start,
// Rest, Stop.
type Operator struct {
	opts   OperatorOptions
	pool   *pgxpool.Pool
	choice *chooser
	api    way
	cli    way // nil without a binary

	cancel  context.CancelFunc
	running sync.WaitGroup
	done    atomic.Int64

	stop   sync.Mutex           // one Rest at a time
	paused map[string]time.Time // destinations that may be paused, with the end of the pause
}

// NewOperator returns an Operator without connecting to the database.
func NewOperator(ctx context.Context, opts OperatorOptions) (*Operator, error) {
	if opts.History == nil || opts.DatabaseURL.IsZero() || opts.Rate < 0 || (opts.Binary == "") != (opts.Config == "") {
		return nil, errors.New("operator options: History and DatabaseURL are required, Rate must not be negative, and Binary needs a Config")
	}
	if opts.Rate == 0 {
		opts.Rate = 2
	}
	pool, err := NewPool(ctx, opts.DatabaseURL, 4, "hookstorm operator")
	if err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("operator: %w", err)
	}
	o := &Operator{opts: opts, pool: pool, api: &apiOrders{box: box}, paused: map[string]time.Time{}}
	o.choice = &chooser{box: box, random: rand.New(rand.NewPCG(uint64(opts.Seed), 1))} //nolint:gosec // the numbers must be repeatable, not secret
	if opts.Binary != "" {
		o.cli = &cliOrders{binary: opts.Binary, config: opts.Config}
	}
	return o, nil
}

// Start starts the random actions. They continue after ctx is done, until Rest or Stop is called.
func (o *Operator) Start(ctx context.Context) {
	ctx, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	o.running.Go(func() { o.work(ctx) })
}

// Done returns the number of actions that took effect.
func (o *Operator) Done() int64 { return o.done.Load() }

// Stop stops the random actions, resumes all destinations, and disconnects. It may be called again,
// for example after an error.
func (o *Operator) Stop(ctx context.Context) error {
	if err := o.Rest(ctx); err != nil {
		return fmt.Errorf("stop operator: %w", err)
	}
	o.pool.Close()
	return nil
}

// Unblock retries parked effects that block later effects of their order. By design, the later
// effects wait until an operator acts.
func (o *Operator) Unblock(ctx context.Context) error {
	rows, err := o.pool.Query(ctx, blockingSQL)
	if err != nil {
		return fmt.Errorf("look for orders that are blocked: %w", err)
	}
	blocking, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (history.Order, error) {
		order := history.Order{Action: actionRetry}
		return order, row.Scan(&order.Key, &order.Destination, &order.Source, &order.EventID)
	})
	if err != nil {
		return fmt.Errorf("look for orders that are blocked: %w", err)
	}
	for _, order := range blocking {
		o.order(ctx, o.api, order, "its order is blocked")
	}
	return nil
}

// Rest stops the random actions and resumes all destinations. It retries until the database has
// confirmed that no destination is paused, or until ctx is done. It may be called again.
func (o *Operator) Rest(ctx context.Context) error {
	o.stop.Lock()
	defer o.stop.Unlock()
	if o.cancel != nil {
		o.cancel()
	}
	o.running.Wait()
	for range (retry.Pauses{First: 100 * time.Millisecond, Max: time.Second}).Until(ctx) {
		for _, destination := range slices.Sorted(maps.Keys(o.paused)) {
			o.resume(ctx, destination)
		}
		if len(o.paused) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%v may still be paused: %w", slices.Sorted(maps.Keys(o.paused)), context.Cause(ctx))
}

// work performs one action after another until ctx is done.
func (o *Operator) work(ctx context.Context) {
	between := time.Duration(float64(time.Second) / o.opts.Rate)
	for n := 1; retry.Wait(ctx, between/2+time.Duration(o.choice.random.Int64N(int64(between)+1))) == nil; n++ {
		for _, destination := range slices.Sorted(maps.Keys(o.paused)) {
			if time.Now().After(o.paused[destination]) {
				o.resume(ctx, destination)
			}
		}
		order, err := o.choice.next(ctx)
		if err != nil || order == nil {
			continue // the database is unavailable, or no target exists yet
		}
		by := o.api
		if o.cli != nil && o.choice.random.IntN(4) == 0 {
			by = o.cli
		}
		if order.Action == actionPause {
			// The pause is recorded before the action, because the action's result may stay
			// unknown.
			o.paused[order.Destination] = time.Now().Add(time.Duration(o.choice.random.Int64N(int64(longestPause))))
		}
		o.order(ctx, by, *order, fmt.Sprintf("hookstorm %d", n))
	}
}

// resume resumes a destination. If the outcome is unknown, the destination remains in o.paused.
func (o *Operator) resume(ctx context.Context, destination string) {
	order := history.Order{Action: actionResume, Destination: destination}
	// After a refusal, nothing is paused: the database refuses only a destination that it does not
	// know.
	if o.order(ctx, o.api, order, "the pause is over") != history.Unknown {
		delete(o.paused, destination)
	}
}

// order performs one action and records its result. The end of ctx does not interrupt a started
// action.
func (o *Operator) order(ctx context.Context, by way, order history.Order, reason string) history.Kind {
	op := o.opts.History.Begin(history.Record{Who: "operator", Op: history.OpOrder, Order: &order})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), orderTimeout)
	defer cancel()
	came := order
	err := by.carryOut(ctx, &came, reason)
	kind, text := history.OK, ""
	if err != nil {
		text = err.Error()
		kind = history.Unknown
		if refusal, ok := errors.AsType[*notDoneError](err); ok && refusal.certain {
			kind = history.Fail
		}
	}
	if kind == history.OK {
		o.done.Add(1)
	}
	op.End(kind, text, func(r *history.Record) { r.Order = &came })
	return kind
}
