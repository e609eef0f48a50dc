package riverjob

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the texts in query/*.sql.
type statements struct {
	InsertJobs   statement.Of[insertJobs]
	NotifyQueues statement.Of[queueNames]
	WakeQueues   statement.Of[queueNames]
}

// InserterOptions configure an Inserter.
type InserterOptions struct {
	// Pool is used for notifications, which are short.
	Pool   *pgxpool.Pool
	Schema schema.Name
	// ConsoleURL is the base URL of the console's event, effect and run pages. Jobs' metadata
	// contains links to these pages. Empty: no links.
	ConsoleURL string
	// Quiet is true if no client listens, so that no notification is sent.
	Quiet bool
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Inserter inserts our jobs, always in the caller's transaction, and pauses their queues.
type Inserter struct {
	client     *river.Client[pgx.Tx] // used only for pauses
	pool       *pgxpool.Pool
	sql        statements
	topic      string // notification topic
	quiet      bool
	waker      *waker
	consoleURL string

	mu       sync.Mutex
	notified map[string]time.Time // time of the last notification in a caller's transaction, by queue
}

// NewInserter returns an Inserter. It starts nothing.
func NewInserter(opts InserterOptions) (*Inserter, error) {
	name := opts.Schema.OrDefault()
	client, err := river.NewClient(riverpgxv5.New(opts.Pool), &river.Config{Logger: opts.Logger, Schema: string(name)})
	if err != nil {
		return nil, fmt.Errorf("river client: %w", err)
	}
	in := &Inserter{
		client: client, pool: opts.Pool, topic: string(name) + ".river_insert", quiet: opts.Quiet,
		consoleURL: strings.TrimSuffix(opts.ConsoleURL, "/"), notified: make(map[string]time.Time),
	}
	if err := statement.Load(&in.sql, queries, "query", name.SQL); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	in.waker = &waker{
		send: func(ctx context.Context, queues []string) error {
			_, err := in.sql.WakeQueues.With(queueNames{Topic: in.topic, Queues: queues}).Exec(ctx, in.pool)
			return err
		},
		logger: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), queues: make(map[string]struct{}),
	}
	return in, nil
}

// Stop waits until River's clients have been notified of all committed jobs, or ctx is done. Jobs
// that are committed after the call cause no notification.
func (in *Inserter) Stop(ctx context.Context) error { return in.waker.stop(ctx) }

// InsertDispatches inserts one job for each event. After an error the
// transaction must be rolled back.
func (in *Inserter) InsertDispatches(ctx context.Context, tx pgx.Tx, jobs []DispatchJob) error {
	return in.insert(ctx, tx, rowsOf(jobs, in.dispatch))
}

// InsertEffects inserts one job for each effect. After an error the transaction
// must be rolled back.
func (in *Inserter) InsertEffects(ctx context.Context, tx pgx.Tx, jobs []EffectJob) error {
	return in.insert(ctx, tx, rowsOf(jobs, in.effect))
}

// InsertRuns inserts a job for each run. After an error the transaction must be rolled
// back.
func (in *Inserter) InsertRuns(ctx context.Context, tx pgx.Tx, runs []int64) error {
	return in.insert(ctx, tx, rowsOf(runs, in.run))
}

type insertJobs struct{ Jobs []jobRow }

func (in *Inserter) insert(ctx context.Context, tx pgx.Tx, rows []jobRow) error {
	if len(rows) == 0 {
		return nil
	}
	queues, err := toWake(rows)
	if err != nil {
		return err
	}
	if _, err := in.sql.InsertJobs.With(insertJobs{Jobs: rows}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return in.Tell(ctx, tx, queues)
}

// toWake returns the queues with new jobs that may run immediately.
func toWake(rows []jobRow) ([]string, error) {
	var queues []string
	for _, row := range rows {
		if slices.Contains(queues, row.Queue) {
			continue
		}
		if !IsQueueName(row.Queue) {
			return nil, fmt.Errorf("insert jobs: %q is not the name of a queue", row.Queue)
		}
		if row.NotBefore == nil {
			queues = append(queues, row.Queue)
		}
	}
	return queues, nil
}

// ending is a transaction that reports its commit, such as package commit's.
type ending interface{ AfterCommit(f func()) }

// Tell notifies River's clients of queues with new jobs, once the transaction is committed. If the
// commit cannot be observed, the notification is part of the transaction, unless another caller's
// transaction has just sent one for the queue.
func (in *Inserter) Tell(ctx context.Context, tx pgx.Tx, queues []string) error {
	if len(queues) == 0 || in.quiet {
		return nil
	}
	if tx, ours := tx.(ending); ours {
		tx.AfterCommit(func() { in.waker.wake(queues) })
		return nil
	}
	if queues = in.untold(queues); len(queues) == 0 {
		return nil
	}
	if _, err := in.sql.NotifyQueues.With(queueNames{Topic: in.topic, Queues: queues}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("notify queues: %w", err)
	}
	return nil
}

// Wake notifies River's clients that a job in a queue is due.
func (in *Inserter) Wake(queue string) {
	if !in.quiet {
		in.waker.wake([]string{queue})
	}
}

// untold returns the queues for which no caller's transaction has just sent a notification, and
// records that the caller sends one now.
func (in *Inserter) untold(queues []string) []string {
	now := time.Now()
	in.mu.Lock()
	defer in.mu.Unlock()
	var left []string
	for _, queue := range queues {
		if now.Sub(in.notified[queue]) >= wakePause {
			in.notified[queue] = now
			left = append(left, queue)
		}
	}
	return left
}

func rowsOf[J any](jobs []J, row func(J) jobRow) []jobRow {
	rows := make([]jobRow, len(jobs))
	for i, j := range jobs {
		rows[i] = row(j)
	}
	return rows
}

// PauseQueue stops the queue's jobs from starting. The queue must have a row.
func (in *Inserter) PauseQueue(ctx context.Context, tx pgx.Tx, queue string) error {
	return in.client.QueuePauseTx(ctx, tx, queue, nil)
}

// ResumeQueue lets the queue's jobs start again.
func (in *Inserter) ResumeQueue(ctx context.Context, tx pgx.Tx, queue string) error {
	return in.client.QueueResumeTx(ctx, tx, queue, nil)
}
