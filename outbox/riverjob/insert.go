package riverjob

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/hooklatch/hooklatch/outbox/planted"
	"github.com/hooklatch/hooklatch/schema"
)

// fetchCooldown debounces River's NOTIFY for each queue and client. It is the
// inserting client's setting that counts.
const fetchCooldown = 10 * time.Millisecond

// InserterOptions configure an Inserter.
type InserterOptions struct {
	Pool   *pgxpool.Pool
	Schema schema.Name
	// ConsoleURL is where the console shows events and effects; links to it go
	// into the metadata of jobs. Empty: no links.
	ConsoleURL string
	Logger     *slog.Logger
}

// Inserter inserts our jobs, always inside a transaction of the caller's, and
// pauses their queues.
type Inserter struct {
	client     *river.Client[pgx.Tx] // inserts only
	consoleURL string
}

// NewInserter returns an Inserter. It starts nothing.
func NewInserter(opts InserterOptions) (*Inserter, error) {
	client, err := river.NewClient(riverpgxv5.New(opts.Pool), &river.Config{
		FetchCooldown: fetchCooldown,
		Logger:        opts.Logger,
		Schema:        string(opts.Schema),
	})
	if err != nil {
		return nil, fmt.Errorf("river client: %w", err)
	}
	return &Inserter{client: client, consoleURL: strings.TrimSuffix(opts.ConsoleURL, "/")}, nil
}

// InsertDispatches inserts one job for each event. After an error the
// transaction must be rolled back.
func (in *Inserter) InsertDispatches(ctx context.Context, tx pgx.Tx, jobs []DispatchJob) error {
	return in.insert(ctx, tx, paramsOf(jobs, in.dispatch))
}

// InsertEffects inserts one job for each effect. After an error the transaction
// must be rolled back.
func (in *Inserter) InsertEffects(ctx context.Context, tx pgx.Tx, jobs []EffectJob) error {
	return in.insert(ctx, tx, paramsOf(jobs, in.effect))
}

func (in *Inserter) insert(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) error {
	if len(params) == 0 {
		return nil
	}
	if planted.Is(planted.JobOutsideTransaction) {
		_, err := in.client.InsertMany(ctx, params)
		return err
	}
	if _, err := in.client.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return nil
}

func paramsOf[J any](jobs []J, params func(J) river.InsertManyParams) []river.InsertManyParams {
	all := make([]river.InsertManyParams, len(jobs))
	for i, j := range jobs {
		all[i] = params(j)
	}
	return all
}

// PauseQueue lets no job of the queue start. The queue must have a row.
func (in *Inserter) PauseQueue(ctx context.Context, tx pgx.Tx, queue string) error {
	return in.client.QueuePauseTx(ctx, tx, queue, nil)
}

// ResumeQueue ends PauseQueue.
func (in *Inserter) ResumeQueue(ctx context.Context, tx pgx.Tx, queue string) error {
	return in.client.QueueResumeTx(ctx, tx, queue, nil)
}
