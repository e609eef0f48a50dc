package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// grain is the usual minimum time by which a task must advance its horizon: see due. A run
	// skips a task that would advance by less.
	grain = time.Hour
	// brake is the maximum time by which a run may go beyond the previous run without an operator's
	// approval.
	brake = 3 * Day
)

// task is the work of a run on one kind of rows.
type task struct {
	what   What
	source identity.Source
	period time.Duration // retention of the rows
	before time.Time     // older rows are deleted

	known     bool      // an earlier run recorded its progress
	horizon   time.Time // time up to which earlier runs have deleted
	approved  time.Time // time up to which an operator allows deletion
	acceptSeq int64     // cursor of events or of imported keys

	oldest     time.Time // time of the oldest row, or an earlier time; zero: no rows
	rows, size int64     // deleted rows and bytes
	kept       int64
	done       bool
}

func (t *task) name() string {
	if t.source == "" {
		return string(t.what)
	}
	return fmt.Sprintf("%s of %s", t.what, t.source)
}

func (t *task) part() Part {
	return Part{
		What: t.what, Source: t.source, Before: t.before, Horizon: t.horizon,
		Rows: t.rows, Bytes: t.size, Kept: t.kept,
	}
}

// due reports whether t may advance its horizon far enough to be worth a run. The minimum is grain,
// or a day for rows that each run reads completely. For a short retention period, a tenth of the
// period is enough.
func (t *task) due() bool {
	enough := grain
	if t.what == Versions || t.what == Imports { // each run reads every row of these kinds, so the task is due at most once a day
		enough = Day
	}
	return t.before.Sub(t.horizon) >= min(enough, t.period/10)
}

// tooFar reports whether t would go further in one run than it may without approval.
func (t *task) tooFar() bool {
	if t.what != Imports && (t.oldest.IsZero() || !t.oldest.Before(t.before)) || t.what == Contents {
		return false // nothing is deleted, or only content guards that are no longer used
	}
	reached := t.horizon
	if t.approved.After(reached) {
		reached = t.approved
	}
	return t.before.After(reached.Add(brake))
}

// prepare reads the time and the settings in effect, and lists the tasks.
func (r *run) prepare(ctx context.Context) error {
	var err error
	if r.settings, err = r.inEffect(ctx, r.order.Settings); err != nil {
		return err
	}
	var sources []identity.Source
	var found oldest
	err = r.db.Statement("look_for_retention", func(db pipeline.ByIndex) error {
		rows, err := r.sql.Sources.Query(ctx, db)
		if err != nil {
			return err
		}
		if sources, err = pgx.CollectRows(rows, pgx.RowTo[identity.Source]); err != nil {
			return err
		}
		return r.sql.Oldest.QueryRow(ctx, db).
			Scan(&r.now, &found.imports, &found.effects, &found.guards, &found.contents, &found.replays, &found.versions, &found.operations)
	})
	if err != nil {
		return fmt.Errorf("look up the oldest rows: %w", err)
	}
	if err := r.findDays(ctx, &found); err != nil {
		return err
	}
	r.settings = r.settings.outliving(sources)
	r.list(sources, found)
	return r.load(ctx)
}

// oldest contains the time of the oldest row of each kind; nil: no rows.
type oldest struct {
	imports bool // whether imported keys exist

	payloads, details, effects, guards, contents, replays, versions, operations *time.Time
}

// list creates the tasks in the order in which they are done. Deliveries come before the events
// that refer to them.
func (r *run) list(sources []identity.Source, found oldest) {
	add := func(what What, source identity.Source, period time.Duration, oldest *time.Time) {
		t := &task{what: what, source: source, period: period, before: r.now.Add(-period)}
		if oldest != nil {
			t.oldest = *oldest
		}
		r.tasks = append(r.tasks, t)
	}
	add(Payloads, "", r.settings.Payloads, found.payloads)
	for _, source := range sources {
		add(Events, source, r.settings.dedupOf(source), nil) // lookBehind finds its oldest event
	}
	for _, source := range sources {
		if found.imports {
			add(Imports, source, r.settings.dedupOf(source), nil)
		}
	}
	for _, source := range sources {
		add(Guards, source, r.settings.dedupOf(source), found.guards)
	}
	// A delivery may be accepted from the quarantine up to 7 days after it arrived. It is then
	// compared with the windows that were open at its arrival, so these windows must still be
	// stored.
	add(Contents, "", 8*Day, found.contents)
	add(Effects, "", r.settings.History, found.effects)
	// Details are kept one day longer than effects, so that they are deleted after their effects.
	add(Details, "", r.settings.History+Day, found.details)
	add(Replays, "", r.settings.History, found.replays)
	add(Versions, "", r.settings.History, found.versions)
	add(Operations, "", r.settings.Audit, found.operations)
}
