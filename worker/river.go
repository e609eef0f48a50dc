package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/failpoint"
)

// Settings of River: how often it fetches jobs, and how long it keeps finished jobs.
const (
	// fetchCooldown is the minimum time between two fetches from a queue. It also debounces
	// notifications of jobs that upkeep inserts.
	fetchCooldown = 10 * time.Millisecond
	// fetchPollInterval is the maximum delay of a job whose notification was lost.
	fetchPollInterval = time.Second
	// pollOnlyInterval is the maximum delay of a job if no client listens for notifications.
	pollOnlyInterval = 150 * time.Millisecond
	// upkeepPollInterval is longer than fetchPollInterval, because upkeep is not urgent.
	upkeepPollInterval = 5 * time.Second

	// Completed jobs are deleted early, unless Options.KeepJobs is set: the history is in
	// Hooklatch's own tables. Cancelled and discarded jobs are kept for operators to inspect.
	completedRetention = 2 * time.Hour
	cancelledRetention = 24 * time.Hour
	discardedRetention = 7 * 24 * time.Hour
)

// reindexed returns the names of River's indexes, without those that Hooklatch's migrations drop: two
// GIN indexes and the index of kinds.
func reindexed() []string {
	return []string{
		"river_job_pkey",
		"river_job_prioritized_fetching_index",
		"river_job_state_and_finalized_at_index",
		"river_job_unique_idx",
	}
}

// newRiverClient returns the client that runs all jobs, including jobs in the given handler queues.
func (w *Worker) newRiverClient(handlers []string) (*river.Client[pgx.Tx], error) {
	// Every process registers every kind. Any process may lead, and the leader's rescuer discards
	// jobs of kinds that its process has not registered.
	workers := river.NewWorkers()
	err := errors.Join(
		river.AddWorkerSafely(workers, &dispatchWorker{Worker: w}),
		river.AddWorkerSafely(workers, &effectWorker{Worker: w}),
		river.AddWorkerSafely(workers, upkeep[partitionsArgs](w.makePartitions)),
		river.AddWorkerSafely(workers, upkeep[reconcileArgs](w.reconcile)),
		river.AddWorkerSafely(workers, upkeep[retentionArgs](w.deleteExpired)),
		river.AddWorkerSafely(workers, upkeep[redactArgs](w.redactContent)),
		river.AddWorkerSafely(workers, upkeep[minutesArgs](w.sumUpMinutes)),
		river.AddWorkerSafely(workers, upkeep[alarmArgs](w.evaluateAlerts)),
		river.AddWorkerSafely(workers, upkeep[backfillArgs](w.startPasses)),
		river.AddWorkerSafely(workers, &runWorker{Worker: w}),
		river.AddWorkerSafely(workers, upkeep[pausesArgs](leftToPauseKeeper)),
		river.AddWorkerSafely(workers, &probeWorker{Worker: w}),
		river.AddWorkerSafely(workers, upkeep[checksArgs](w.runChecks)),
	)
	if err != nil {
		return nil, fmt.Errorf("register jobs: %w", err)
	}
	pollInterval := fetchPollInterval
	if w.opts.PollOnly {
		pollInterval = pollOnlyInterval
	}
	config := &river.Config{
		ID:                          w.opts.ID,
		Schema:                      string(w.opts.Schema),
		Queues:                      riverQueues(w.opts, handlers),
		Workers:                     workers,
		Logger:                      slog.New(warnings{w.opts.Logger.Handler()}),
		Middleware:                  []rivertype.Middleware{&textGuard{logger: w.opts.Logger, running: &w.running}},
		PeriodicJobs:                w.periodicJobs(),
		FetchCooldown:               fetchCooldown,
		FetchPollInterval:           pollInterval,
		PollOnly:                    w.opts.PollOnly,
		FetchOnlyKnownKinds:         true,
		JobTimeout:                  w.opts.JobTimeout,
		RescueStuckJobsAfter:        w.opts.RescueAfter,
		SoftStopTimeout:             w.opts.SoftStop,
		CompletedJobRetentionPeriod: cmp.Or(w.opts.KeepJobs, completedRetention),
		CancelledJobRetentionPeriod: cancelledRetention,
		DiscardedJobRetentionPeriod: discardedRetention,
		ReindexerIndexNames:         reindexed(),
		TestOnly:                    w.noStagger,
	}
	if failpoint.Enabled {
		config.Middleware = append(config.Middleware, &fetchedPlace{})
		config.Test.Time = processClock{}
	}
	client, err := river.NewClient(newDriver(w.pool, w.opts.Logger), config)
	if err != nil {
		return nil, fmt.Errorf("configure River: %w", err)
	}
	return client, nil
}

// fetchedPlace is a failpoint after River has fetched a job and before the job runs.
type fetchedPlace struct{ river.MiddlewareDefaults }

// Work implements rivertype.WorkerMiddleware.
func (*fetchedPlace) Work(ctx context.Context, _ *rivertype.JobRow, doInner func(context.Context) error) error {
	if err := failpoint.Hit("river.job_fetched"); err != nil {
		return err
	}
	return doInner(ctx)
}

// processClock makes River use package clock, so that tests can set a wrong time.
type processClock struct{}

// Now implements rivertype.TimeGenerator.
func (processClock) Now() time.Time { return clock.Now() }

// NowOrNil implements rivertype.TimeGenerator. It returns nil, so that statements use the
// database's time.
func (processClock) NowOrNil() *time.Time { return nil }

// warnings drops River's log lines below warning level, because they repeat Hooklatch's own log
// lines.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }

// output is the result of a run in the form that River UI shows: flat, small and safe.
type output struct {
	Outcome    string `json:"outcome"`
	HTTPStatus int    `json:"http_status,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Applied    string `json:"applied,omitempty"` // yes, no or unknown
	NextAt     string `json:"next_at,omitempty"` // RFC 3339
	Effects    int    `json:"effects,omitempty"` // number of effects that a dispatch created
}

// record stores the output with the job. No other function may call river.RecordOutput.
func (o output) record(ctx context.Context) error {
	o.Outcome = oneLine(o.Outcome)
	if err := river.RecordOutput(ctx, o); err != nil {
		return fmt.Errorf("record output: %w", err)
	}
	return nil
}
