package hooktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/worker"
)

// Case is a handler, the events to try it with, and the definition of its result.
type Case struct {
	// Make prepares an empty database, for example by creating tables, and returns the handler to
	// try there. It is called once for each trial, and each trial has a separate database. If the
	// handler has state elsewhere, Make must also reset that state. Required.
	Make func(ctx context.Context, w World) (worker.HandlerFunc, error)
	// State reads the end state: everything that must be the same with and without a trouble. Omit
	// values that may differ, such as generated ids and write times. A string is compared
	// unchanged, any other value as JSON. Query returns a State that reads rows. Required.
	State func(ctx context.Context, w World) (any, error)
	// Events are about one object, in the order in which they happened. If there are several
	// events, other orders are tried too. There must be at least one event, and at most MaxEvents.
	Events []Event
	// Source is the name of the events' source. Defaults to "hooktest".
	Source string
	// Destinations are the destinations for which the handler enqueues effects, with EnqueueTx of
	// World.Outbox. They accept every effect. The set of effects, by destination and key, is part
	// of the state.
	Destinations []string
	// Without lists troubles that the handler need not withstand. Give the reason for each in a
	// comment.
	Without []Trouble
}

// MaxEvents is the maximum number of Case.Events, because the number of trials grows with the
// number of events.
const MaxEvents = 8

// Event is one event, as the provider of its source would extract it from a delivery.
type Event struct {
	ID   string
	Type string
	// Body is the payload. Its content type is application/json.
	Body []byte
	// OccurredAt is the provider's time of the event, or zero if the provider does not report it.
	OccurredAt time.Time
}

// World is the environment of a trial.
type World struct {
	// DB is a database for this trial alone, with Hooklatch's schema.
	DB *pgxpool.Pool
	// Outbox is the worker's outbox, for EnqueueTx.
	Outbox *outbox.Outbox
}

// Query returns a Case.State that reads the rows of a query, each as a line of JSON. Without an
// ORDER BY the rows may be in any order.
func Query(sql string) func(ctx context.Context, w World) (any, error) {
	return func(ctx context.Context, w World) (any, error) {
		rows, err := w.DB.Query(ctx, "SELECT row_to_json(state)::text FROM ("+sql+"\n) AS state")
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		return strings.Join(lines, "\n"), nil
	}
}

// Run tries the handler of a case, and fails the test with all findings. Parallel tests share the
// server, but not its databases.
func Run(t testing.TB, c Case) {
	t.Helper()
	findings, err := Find(t.Context(), c)
	for _, found := range findings {
		t.Errorf("hooktest: %s", found)
	}
	if err != nil {
		t.Fatalf("hooktest: %v", err)
	}
}

// Find tries the handler of a case and returns the findings, in the order of the troubles. There
// are no findings if the handler withstands all troubles. Find returns an error if the case is
// invalid, or if a trial could not be completed, for example because the handler fails without any
// trouble. It then also returns the findings so far.
func Find(ctx context.Context, c Case) ([]Finding, error) {
	if c.Source == "" {
		c.Source = "hooktest"
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	want, err := c.undisturbed(ctx)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, p := range c.plans() {
		got, failure, err := c.try(ctx, p)
		if err != nil {
			return findings, fmt.Errorf("%s: %w", p.trouble, err)
		}
		if failure != nil || got != want {
			findings = append(findings, Finding{Trouble: p.trouble, Story: p.story, Want: want, Got: got, Failure: failure})
		}
	}
	return findings, nil
}

// undisturbed returns the state in which every trial must end. It requires that two undisturbed
// trials end in the same state. Otherwise the first trouble would be blamed for any difference.
func (c Case) undisturbed(ctx context.Context) (string, error) {
	var states [2]string
	for i := range states {
		got, failure, err := c.try(ctx, plan{steps: inOrder(c.Events)})
		if err != nil {
			return "", err
		}
		if failure != nil {
			return "", fmt.Errorf("the handler fails without any trouble: %w", failure)
		}
		states[i] = got
	}
	if states[0] != states[1] {
		return "", errors.New("State differs between two undisturbed trials: leave out values that differ between trials, such as times and generated ids\n" +
			differences(states[0], states[1]))
	}
	return states[0], nil
}

func (c Case) validate() error {
	switch {
	case c.Make == nil:
		return errors.New("Make is required")
	case c.State == nil:
		return errors.New("State is required")
	case len(c.Events) == 0:
		return errors.New("Events is empty: give at least one")
	case len(c.Events) > MaxEvents:
		return fmt.Errorf("there are %d Events; at most %d are tried", len(c.Events), MaxEvents)
	}
	ids := map[string]bool{}
	for i, e := range c.Events {
		switch {
		case e.ID == "":
			return fmt.Errorf("Events[%d] has no ID", i)
		case e.Type == "":
			return fmt.Errorf("event %s has no Type", e.ID)
		case ids[e.ID]:
			return fmt.Errorf("two Events have the ID %s: repetitions are tried anyway", e.ID)
		}
		ids[e.ID] = true
	}
	for _, trouble := range c.Without {
		if !slices.Contains(Troubles(), trouble) {
			return fmt.Errorf("Without names %q, which is no trouble", trouble)
		}
	}
	return nil
}

// delivery returns a delivery of the event under the given id, as the gateway would pass it on.
func (c Case) delivery(e Event, id string) outbox.Delivery {
	return outbox.Delivery{
		Source: identity.Source(c.Source), Provider: "hooktest", ContentType: "application/json", Body: e.Body, Handlers: true,
		Events: []outbox.Incoming{{ID: identity.EventID(id), Type: e.Type, OccurredAt: e.OccurredAt}},
	}
}
