package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	timeLayout = "2006-01-02 15:04:05Z"
	// lateAfter is the time that work may be due before it becomes a finding.
	lateAfter = time.Minute
	// reportInterval is the interval at which River reports each queue that it processes, plus
	// some time for the report itself.
	reportInterval = 11 * time.Minute
)

// Waiting finds waiting work: the number of rows, their age, the reason, and the command to run. It
// reports an attempt only if the attempt has been due for a minute. It reports a dispatch after a
// minute, or at once if no worker processes the queue of the dispatch.
func Waiting(ctx context.Context, pool *pgxpool.Pool, name schema.Name) ([]Finding, error) {
	q, err := loadWaitingQuestions(name)
	if err != nil {
		return nil, err
	}
	w := &waiting{ctx: ctx, pool: pool, schema: name, sql: q}
	w.worker()
	w.setAside()
	w.failedEvents()
	w.refused()
	w.pausedQueues()
	w.destinations()
	w.read()
	w.abandoned()
	w.events()
	w.bySource()
	w.configurations()
	if w.err != nil {
		return nil, w.err
	}
	if !slices.ContainsFunc(w.findings, func(f Finding) bool { return f.Level != OK }) {
		w.findings = append(w.findings, Finding{Level: OK, Check: "waiting", Message: w.idle()})
	}
	return w.findings, nil
}

// waiting collects findings until a query fails.
type waiting struct {
	ctx      context.Context //nolint:containedctx // the struct lives for one call of Waiting
	pool     *pgxpool.Pool
	schema   schema.Name
	sql      waitingQuestions
	findings []Finding
	err      error

	now        time.Time // current time by the database's clock
	works      bool      // true if a worker is running
	reportedAt time.Time // last time at which River reported any queue
	measured   reading
}

// ask runs a query, and calls the function row for each row of the result. Before each call, ask
// scans the row's values into the variables to which the elements of into point.
func (w *waiting) ask(question statement.Bound, into []any, row func()) {
	if w.err != nil {
		return
	}
	rows, err := question.Query(w.ctx, w.pool)
	if err == nil {
		_, err = pgx.ForEachRow(rows, into, func() error {
			row()
			return nil
		})
	}
	if err != nil {
		w.err = fmt.Errorf("find what is waiting (%s): %w", question.Name(), err)
	}
}

// read reads the measurements for the findings about abandoned attempts and about sources.
func (w *waiting) read() {
	if w.err != nil {
		return
	}
	reader, err := measure.NewReader(w.pool, w.schema)
	if err == nil {
		err = w.measured.judge(w.ctx, reader, 0)
	}
	w.err = err
}

func (w *waiting) add(check string, count int64, since time.Time, message, fix string) {
	w.findings = append(w.findings, Finding{
		Level: Warning, Check: check, Message: message, Fix: fix, Count: count, Since: since.UTC(),
	})
}

// since formats a time and its age.
func (w *waiting) since(t time.Time) string {
	return fmt.Sprintf("since %s (%s)", t.UTC().Format(timeLayout), clock.Roughly(w.now.Sub(t)))
}

func several(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// waits returns "1 effect waits" or "2 effects wait".
func waits(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " waits"
	}
	return fmt.Sprintf("%d %ss wait", n, what)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (w *waiting) worker() {
	var reportedAt *time.Time
	w.ask(w.sql.Worker, []any{&w.now, &w.works, &reportedAt}, func() { w.reportedAt = orZero(reportedAt) })
}

// idle returns the message for the case that nothing is waiting.
func (w *waiting) idle() string {
	if w.works {
		return "a worker is running, and nothing has been waiting for longer than " + clock.Roughly(lateAfter)
	}
	return "nothing is waiting; no worker is running"
}

// unserved returns the reason why no worker processes a queue, or "" if a worker does.
func (w *waiting) unserved(reportedAt time.Time) string {
	switch {
	case !w.works && w.reportedAt.IsZero():
		return "no worker has ever run here"
	case !w.works:
		return "no worker is running; the last one was seen at " + w.reportedAt.UTC().Format(timeLayout)
	case reportedAt.IsZero():
		return "no worker has ever processed the queue"
	case w.now.Sub(reportedAt) > reportInterval:
		return "no worker has processed the queue " + w.since(reportedAt)
	}
	return ""
}
