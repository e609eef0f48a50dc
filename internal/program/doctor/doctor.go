// Package doctor says how a system is. ReadStatus reads what fits on one screen: the
// three numbers that tell whether webhooks are healthy, what needs attention, what is
// waiting and since when, and which processes run. Server, Invariants and Waiting find
// what is wrong: settings that break the guarantees, rows that contradict them, and what
// waits for a worker or an operator.
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

// Level is how bad a Finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // repairs itself, or wants a look
	Problem Level = "problem" // a guarantee does not hold
)

// Finding is one result of a check.
type Finding struct {
	Level   Level  `json:"level"`
	Check   string `json:"check"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // what to do about it

	// Of what waits.
	Count int64     `json:"count,omitempty"`
	Since time.Time `json:"since,omitzero"`

	// Of a check of the user's own: the first rows it returned, by the names of
	// their columns. Count is that of all.
	Rows []map[string]*string `json:"rows,omitempty"`
}

// maxShown is how many violations of an invariant are named.
const maxShown = 5

// invariant is a question for what must not be there: a row for each violation,
// with the number of all and a text for this one.
type invariant struct {
	violations statement.Of[shown]

	level Level
	holds string // what is true without a violation
	fix   string
}

func (q questions) invariants() []invariant {
	const healed = "a running worker repairs it within minutes: is one running, and what does it log?"
	return []invariant{
		{q.EventsWithoutDelivery, Problem, "every event has its delivery (I1)", "its body is lost: let the provider send it again, and look for a person or program that deletes from deliveries"},
		{q.EventsWithoutJob, Warning, "every undispatched event has a job (I5)", healed},
		{q.EffectsWithoutJob, Warning, "every unfinished effect has a job (I5)", healed},
		{q.EffectsPastLease, Warning, "no attempt is over its lease for long (I5)", healed},
		{q.EffectsWithManyJobs, Warning, "no effect has two live jobs (I4)", "harmless, since the ledger lets one of them run; remove the younger one in River UI"},
		{q.EffectsWithoutEvent, Problem, "every effect has the event it is because of (I9)", "look for a person or program that deletes from processed_events"},
		{q.LinksWithoutEffect, Problem, "every link of an event leads to an effect (I4)", "look for a person or program that deletes from effects"},
		{q.DoneWithoutAttempt, Problem, "every effect that is done was confirmed (I6)", "ask the receiver whether it was applied, and look for who changes effects by hand"},
		{q.AttemptsBeyondEffect, Problem, "no attempt is newer than its effect (I8)", "look for who changes effects by hand, or for a backup that was restored in parts"},
		{q.EventsHeld, Warning, "no event is held as a suspected replay", "see them with `hooklatch events list --state held`; `hooklatch events release` or `hooklatch events drop` decides, by SOURCE EVENT_ID or by filter"},
	}
}

// Invariants checks what must be true of the rows of a migrated database.
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
		message := fmt.Sprintf("not so: %s; %d found\n%s", inv.holds, total, strings.Join(violations, "\n"))
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
