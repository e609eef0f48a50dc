// Package doctor finds what is wrong with a database: settings that break the
// guarantees, rows that contradict them, and what waits for somebody.
package doctor

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
}

//go:embed query/*.sql
var queries embed.FS

// maxShown is how many violations of an invariant are named.
const maxShown = 5

// invariant is a query for what must not be there: a row for each violation,
// with the number of all and a text for this one.
type invariant struct {
	query string // file
	level Level
	holds string // what is true without a violation
	fix   string
}

func invariants() []invariant {
	const healed = "a running worker repairs it within minutes: is one running, and what does it log?"
	return []invariant{
		{"events_without_delivery", Problem, "every event has its delivery (I1)", "its body is lost: let the provider send it again, and look for a person or program that deletes from deliveries"},
		{"events_without_job", Warning, "every undispatched event has a job (I5)", healed},
		{"effects_without_job", Warning, "every unfinished effect has a job (I5)", healed},
		{"effects_past_lease", Warning, "no attempt is over its lease for long (I5)", healed},
		{"effects_with_many_jobs", Warning, "no effect has two live jobs (I4)", "harmless, since the ledger lets one of them run; remove the younger one in River UI"},
		{"effects_without_event", Problem, "every effect has the event it is because of (I9)", "look for a person or program that deletes from processed_events"},
		{"links_without_effect", Problem, "every link of an event leads to an effect (I4)", "look for a person or program that deletes from effects"},
		{"done_without_attempt", Problem, "every effect that is done was confirmed (I6)", "ask the receiver whether it was applied, and look for who changes effects by hand"},
		{"attempts_beyond_effect", Problem, "no attempt is newer than its effect (I8)", "look for who changes effects by hand, or for a backup that was restored in parts"},
		{"events_held", Warning, "no event is held as a suspected replay", "see them with `hooklatch events list --state held`; `hooklatch events release` or `hooklatch events drop` decides, by SOURCE EVENT_ID or by filter"},
	}
}

// Invariants checks what must be true of the rows of a migrated database.
func Invariants(ctx context.Context, pool *pgxpool.Pool, name schema.Name) ([]Finding, error) {
	var findings []Finding
	for _, inv := range invariants() {
		text, err := queries.ReadFile("query/" + inv.query + ".sql")
		if err != nil {
			return nil, fmt.Errorf("load invariant: %w", err)
		}
		violations, total, err := violationsOf(ctx, pool, name.SQL(string(text)))
		if err != nil {
			return nil, fmt.Errorf("check that %s: %w", inv.holds, err)
		}
		if total == 0 {
			findings = append(findings, Finding{Level: OK, Check: inv.query, Message: inv.holds})
			continue
		}
		message := fmt.Sprintf("not so: %s; %d found\n%s", inv.holds, total, strings.Join(violations, "\n"))
		findings = append(findings, Finding{Level: inv.level, Check: inv.query, Message: message, Fix: inv.fix})
	}
	return findings, nil
}

func violationsOf(ctx context.Context, pool *pgxpool.Pool, query string) (shown []string, total int64, err error) {
	rows, err := pool.Query(ctx, query, maxShown)
	if err != nil {
		return nil, 0, err
	}
	var text string
	_, err = pgx.ForEachRow(rows, []any{&total, &text}, func() error {
		shown = append(shown, text)
		return nil
	})
	return shown, total, err
}
