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

// Case is a handler, the events it is tried with, and what counts as its result.
type Case struct {
	// Make prepares an empty database, such as by creating tables, and returns the
	// handler to try there. It is called once for each trial, and each has a
	// database of its own: what a handler keeps elsewhere, Make makes anew.
	// Required.
	Make func(ctx context.Context, w World) (worker.HandlerFunc, error)
	// State reads the end state: all that must be the same after trouble. Leave
	// out what may differ, such as generated ids and the time of writing. A
	// string is compared as it is, everything else as JSON. Query reads rows.
	// Required.
	State func(ctx context.Context, w World) (any, error)
	// Events are about one object, in the order in which they happened. With more
	// than one, their order is tried too. At least one, at most MaxEvents.
	Events []Event
	// Source is the name of the events' source. Defaults to "hooktest".
	Source string
	// Destinations are those that the handler enqueues effects for, with EnqueueTx
	// of World.Outbox. They accept whatever they are sent. Which effects there
	// are, by destination and key, is part of the state.
	Destinations []string
	// Without leaves out troubles that the handler need not stand. Say why, next
	// to it.
	Without []Trouble
}

// MaxEvents bounds Case.Events: the trials grow with it.
const MaxEvents = 8

// Event is one event, as the provider of its source would have found it.
type Event struct {
	ID   string
	Type string
	// Body is the payload. Its content type is application/json.
	Body []byte
	// OccurredAt is when it happened by the provider's clock. Zero: it does not say.
	OccurredAt time.Time
}

// World is what a trial takes place in.
type World struct {
	// DB is a database of this trial alone, with the schema of Hooklatch in it.
	DB *pgxpool.Pool
	// Outbox is that of the worker, for EnqueueTx.
	Outbox *outbox.Outbox
}

// Query returns a Case.State that reads the rows of a query, each as a line of
// JSON. Without an ORDER BY the rows may come in any order.
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

// Run tries the handler of a case, and fails the test with everything it finds.
// Tests that run in parallel share the server, not its databases.
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

// Find tries the handler of a case and returns what it found, in the order of the
// troubles: nothing for a handler that stands them all. An error means that it
// could not be tried to the end: the case is wrong, or the handler fails without any
// trouble.
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

// undisturbed is the state that every trial must end in. Two trials have to agree
// on it, or it would be blamed on the first trouble that it changes by itself.
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
		return "", errors.New("State differs between two undisturbed trials: leave out what changes by itself, such as times and generated ids\n" +
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
		return fmt.Errorf("there are %d Events, at most %d are tried", len(c.Events), MaxEvents)
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

// delivery is how the gateway would hand over an event, under an id.
func (c Case) delivery(e Event, id string) outbox.Delivery {
	return outbox.Delivery{
		Source: identity.Source(c.Source), Provider: "hooktest", ContentType: "application/json", Body: e.Body, Handlers: true,
		Events: []outbox.Incoming{{ID: identity.EventID(id), Type: e.Type, OccurredAt: e.OccurredAt}},
	}
}
