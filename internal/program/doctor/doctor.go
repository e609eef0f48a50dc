// Package doctor reports a system's state. ReadStatus reads a one-screen summary: three numbers
// that show whether webhooks are healthy, alerts, waiting work and its age, and running processes.
// Server, Invariants and Waiting find faults: settings that break the guarantees, rows that
// contradict them, and work that waits for a worker or an operator.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

// Level is the severity of a Finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // the fault repairs itself, or an operator should check it
	Problem Level = "problem" // a guarantee does not hold
)

// Finding is a result of one check.
type Finding struct {
	Level   Level  `json:"level"`
	Check   string `json:"check"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // advice on what to do

	// Count is the number of rows, or of missing rights, that the message is about. Since is the
	// time since which the oldest row has waited.
	Count int64     `json:"count,omitempty"`
	Since time.Time `json:"since,omitzero"`

	// Rows are the first rows of a user-defined check, by column name. Count is the number of all
	// rows.
	Rows []map[string]*string `json:"rows,omitempty"`
}

// maxShown is the maximum number of violations listed for an invariant.
const maxShown = 5

// invariant is a query for violations of one rule. Each row is one violation, with the number of
// all violations and a text. At most maxShown rows are returned.
type invariant struct {
	violations statement.Of[shown]

	level Level
	holds string // statement that is true if nothing violates it
	fix   string
}

func (q questions) invariants() []invariant {
	const healed = "a running worker repairs this within minutes: check that a worker is running, and read its log"
	return []invariant{
		{q.EventsWithoutDelivery, Problem, "every event has its delivery (I1)", "the body is lost: have the provider send it again, and find out which user or program deletes from deliveries"},
		{q.EventsWithoutJob, Warning, "every undispatched event has a job (I5)", healed},
		{q.EffectsWithoutJob, Warning, "every unfinished effect has a job (I5)", healed},
		{q.EffectsPastLease, Warning, "no attempt runs long past its lease (I5)", healed},
		{q.EffectsWithManyJobs, Warning, "no effect has two live jobs (I4)", "harmless: the ledger lets only one of the jobs run; remove the newer job in River UI"},
		{q.EffectsWithoutEvent, Problem, "every effect has the event that caused it (I9)", "find out which user or program deletes from processed_events"},
		{q.LinksWithoutEffect, Problem, "every link of an event leads to an effect (I4)", "find out which user or program deletes from effects"},
		{q.DoneWithoutAttempt, Problem, "every effect that is done was confirmed by its receiver (I6)", "check at the receiver whether the effect was applied, and find out which user changes effects manually"},
		{q.AttemptsBeyondEffect, Problem, "no attempt has a higher number than its effect's latest attempt (I8)", "find out which user changes effects manually, or whether a backup was restored only in part"},
		{q.SequencesBehind, Problem, "new rows get higher numbers than the stored rows", "logical replication does not copy sequences: stop all processes, and run `hooklatch repair --promoted --yes`"},
		{q.EventsHeld, Warning, "no event is held as a suspected replay", "list the events with `hooklatch events list --state held`, then run `hooklatch events release` or `hooklatch events drop`, by SOURCE EVENT_ID or by filter"},
	}
}

// Invariants checks the rows of a migrated database. It returns one Finding for each invariant.
func Invariants(ctx context.Context, pool *pgxpool.Pool, name schema.Name) ([]Finding, error) {
	q, err := loadQuestions(name)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, inv := range q.invariants() {
		question := inv.violations.With(shown{Limit: maxShown})
		violations, total, err := violationsOf(ctx, pool, question)
		if err != nil {
			return nil, fmt.Errorf("check that %s: %w", inv.holds, err)
		}
		if total == 0 {
			findings = append(findings, Finding{Level: OK, Check: question.Name(), Message: inv.holds})
			continue
		}
		message := fmt.Sprintf("violated: %s; %d found\n%s", inv.holds, total, strings.Join(violations, "\n"))
		findings = append(findings, Finding{Level: inv.level, Check: question.Name(), Message: message, Fix: inv.fix})
	}
	return findings, nil
}

func violationsOf(ctx context.Context, pool *pgxpool.Pool, question statement.Bound) (texts []string, total int64, err error) {
	rows, err := question.Query(ctx, pool)
	if err != nil {
		return nil, 0, err
	}
	var text string
	_, err = pgx.ForEachRow(rows, []any{&total, &text}, func() error {
		texts = append(texts, text)
		return nil
	})
	return texts, total, err
}
