package hooktest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/hooktest"
)

// invoice is the payload of an event in testdata.
type invoice struct {
	Data struct {
		Object struct {
			ID         string
			AmountPaid int64 `json:"amount_paid"`
			Status     string
		}
	}
}

// event returns the event in a testdata file. The event happened the given number of minutes after
// the first event.
func event(t *testing.T, id, eventType string, minutes int) hooktest.Event {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", eventType+".json"))
	require.NoError(t, err)
	at := time.Unix(1764000000, 0).Add(time.Duration(minutes) * time.Minute)
	return hooktest.Event{ID: id, Type: eventType, Body: body, OccurredAt: at}
}

// invoices returns a case about one invoice, with a table for the given handler.
func invoices(t *testing.T, table string, handle func(ctx context.Context, w hooktest.World, tx pgx.Tx, e inbox.Event, v invoice) error) hooktest.Case {
	t.Helper()
	return hooktest.Case{
		Events: []hooktest.Event{
			event(t, "evt_1", "invoice.paid", 0),
			event(t, "evt_2", "invoice.voided", 1),
			event(t, "evt_3", "invoice.marked_uncollectible", 2),
		},
		Make: func(ctx context.Context, w hooktest.World) (worker.HandlerFunc, error) {
			_, err := w.DB.Exec(ctx, "CREATE TABLE invoices ("+table+")")
			return func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
				v, err := worker.Payload[invoice](e)
				if err != nil {
					return err
				}
				return handle(ctx, w, tx, e, v)
			}, err
		},
		State: hooktest.Query(`SELECT * FROM invoices ORDER BY 1`),
	}
}

// about limits a case to the given troubles: each trouble takes at least one trial, and a trial
// takes a second. With HOOKLATCH_LONG=1, all troubles are tried.
func about(c *hooktest.Case, troubles ...hooktest.Trouble) {
	if os.Getenv("HOOKLATCH_LONG") == "" {
		c.Without = slices.DeleteFunc(hooktest.Troubles(), func(trouble hooktest.Trouble) bool { return slices.Contains(troubles, trouble) })
	}
}

// found returns the troubles that a handler does not withstand, and the texts of their findings.
func found(t *testing.T, c hooktest.Case) (troubles []hooktest.Trouble, texts map[hooktest.Trouble]string) {
	t.Helper()
	findings, err := hooktest.Find(t.Context(), c)
	require.NoError(t, err)
	texts = map[hooktest.Trouble]string{}
	for _, f := range findings {
		t.Log(f)
		if texts[f.Trouble] == "" {
			troubles = append(troubles, f.Trouble)
		}
		texts[f.Trouble] += f.String()
	}
	return troubles, texts
}

// setInvoice is a correct handler: it sets the end state, unless a newer state is stored.
func setInvoice(ctx context.Context, _ hooktest.World, tx pgx.Tx, e inbox.Event, v invoice) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO invoices (id, amount, status, as_of) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET amount = excluded.amount, status = excluded.status, as_of = excluded.as_of
		WHERE invoices.as_of <= excluded.as_of`,
		v.Data.Object.ID, v.Data.Object.AmountPaid, v.Data.Object.Status, e.OccurredAt)
	return err
}

func TestAHandlerThatSetsTheEndStateStandsAllTrouble(t *testing.T) {
	t.Parallel()
	c := invoices(t, `id text PRIMARY KEY, amount bigint, status text, as_of timestamptz`, setInvoice)
	if os.Getenv("HOOKLATCH_LONG") == "" {
		c.Events = c.Events[:2]
	}
	hooktest.Run(t, c)
}

func TestAHandlerThatAddsInsteadOfSettingIsFound(t *testing.T) {
	t.Parallel()
	c := invoices(t, `id text PRIMARY KEY, amount bigint`, func(ctx context.Context, _ hooktest.World, tx pgx.Tx, _ inbox.Event, v invoice) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO invoices (id, amount) VALUES ($1, $2)
			ON CONFLICT (id) DO UPDATE SET amount = invoices.amount + excluded.amount`, v.Data.Object.ID, v.Data.Object.AmountPaid)
		return err
	})
	c.Events = c.Events[:1]
	troubles, texts := found(t, c)
	require.Equal(t, []hooktest.Trouble{hooktest.TwoIDs, hooktest.Replayed}, troubles, "interruptions undo the writes with tx")
	require.Equal(t, `replayed: each event was handled, and replayed right afterwards.
Something happened more than once: the handler adds to the stored state instead of setting the new state.
  - {"id":"in_1","amount":4200}
  + {"id":"in_1","amount":8400}`, texts[hooktest.Replayed])
}

func TestAHandlerThatWritesPastItsTransactionIsFound(t *testing.T) {
	t.Parallel()
	c := invoices(t, `attempt bigint GENERATED ALWAYS AS IDENTITY, id text`, func(ctx context.Context, w hooktest.World, tx pgx.Tx, _ inbox.Event, v invoice) error {
		if _, err := w.DB.Exec(ctx, `INSERT INTO invoices (id) VALUES ($1)`, v.Data.Object.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT 1`)
		return err
	})
	c.Events = c.Events[:1]
	c.State = hooktest.Query(`SELECT id, count(*) AS calls FROM invoices GROUP BY id`)
	about(&c, hooktest.TwiceAtOnce, hooktest.Crashed)
	troubles, texts := found(t, c)
	require.Subset(t, troubles, []hooktest.Trouble{hooktest.TwiceAtOnce, hooktest.Crashed})
	require.Contains(t, texts[hooktest.TwiceAtOnce], `+ {"id":"in_1","calls":2}`)
	require.Contains(t, texts[hooktest.Crashed], `+ {"id":"in_1","calls":4}`) // interrupted after the statement, at the end and before the COMMIT, then undisturbed
}

func TestAHandlerThatTakesTheLastEventForTheNewestIsFound(t *testing.T) {
	t.Parallel()
	c := invoices(t, `id text PRIMARY KEY, status text`, func(ctx context.Context, _ hooktest.World, tx pgx.Tx, _ inbox.Event, v invoice) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO invoices (id, status) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET status = excluded.status`,
			v.Data.Object.ID, v.Data.Object.Status)
		return err
	})
	c.Without = []hooktest.Trouble{hooktest.AllAtOnce} // with AllAtOnce, any event may be the last
	about(&c, hooktest.Late, hooktest.Shuffled)
	troubles, texts := found(t, c)
	require.Equal(t, []hooktest.Trouble{hooktest.Late, hooktest.Shuffled}, troubles)
	require.Contains(t, texts[hooktest.Late], "replayed: evt_2, evt_1.")
	require.Contains(t, texts[hooktest.Late], `+ {"id":"in_1","status":"paid"}`)
	require.Contains(t, texts[hooktest.Shuffled], "in the order evt_1, evt_3, evt_2.")
}

// The handler compares times, but reads without a lock before it writes. If events are handled one
// at a time, the handler withstands every order.
func TestAHandlerThatReadsWithoutALockIsFound(t *testing.T) {
	t.Parallel()
	c := invoices(t, `id text PRIMARY KEY, status text, as_of timestamptz`, func(ctx context.Context, _ hooktest.World, tx pgx.Tx, e inbox.Event, v invoice) error {
		var asOf time.Time
		err := tx.QueryRow(ctx, `SELECT as_of FROM invoices WHERE id = $1`, v.Data.Object.ID).Scan(&asOf)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) || asOf.After(e.OccurredAt) {
			return err
		}
		if e.EventID == "evt_1" { // the oldest event is the slowest
			if _, err := tx.Exec(ctx, `SELECT pg_sleep(0.5)`); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO invoices (id, status, as_of) VALUES ($1, $2, $3)
			ON CONFLICT (id) DO UPDATE SET status = excluded.status, as_of = excluded.as_of`, v.Data.Object.ID, v.Data.Object.Status, e.OccurredAt)
		return err
	})
	c.Without = []hooktest.Trouble{hooktest.AllAtOnce}
	about(&c, hooktest.Late, hooktest.Shuffled)
	troubles, _ := found(t, c)
	require.Empty(t, troubles)
	c.Without = slices.DeleteFunc(hooktest.Troubles(), func(trouble hooktest.Trouble) bool { return trouble == hooktest.AllAtOnce })
	for range 10 { // on a busy machine, the oldest event may begin only after the others have ended
		if troubles, _ = found(t, c); len(troubles) > 0 {
			break
		}
	}
	require.Equal(t, []hooktest.Trouble{hooktest.AllAtOnce}, troubles)
}

func TestAHandlerThatFailsOnWhatIsThereIsFound(t *testing.T) {
	t.Parallel()
	c := invoices(t, `id text PRIMARY KEY`, func(ctx context.Context, _ hooktest.World, tx pgx.Tx, _ inbox.Event, v invoice) error {
		_, err := tx.Exec(ctx, `INSERT INTO invoices (id) VALUES ($1)`, v.Data.Object.ID)
		return err
	})
	c.Events = c.Events[:1]
	c.Without = []hooktest.Trouble{hooktest.TwoIDs}
	about(&c, hooktest.Replayed)
	troubles, texts := found(t, c)
	require.Equal(t, []hooktest.Trouble{hooktest.Replayed}, troubles)
	require.Contains(t, texts[hooktest.Replayed], "does not come to an end: event evt_1 has been tried 4 times: ")
	require.Contains(t, texts[hooktest.Replayed], "duplicate key value")
}

func TestEffectsUnderKeysThatVaryAreFound(t *testing.T) {
	t.Parallel()
	enqueue := func(key func(e inbox.Event) string) hooktest.Case {
		c := invoices(t, `id text`, func(ctx context.Context, w hooktest.World, tx pgx.Tx, e inbox.Event, _ invoice) error {
			_, err := w.Outbox.EnqueueTx(ctx, tx, outbox.Enqueue{
				Destination: "crm", Key: identity.Key(key(e)), Request: ledger.Request{ContentType: "application/json", Body: []byte(`{}`)},
			})
			return err
		})
		c.Events = c.Events[:1]
		c.Destinations = []string{"crm"}
		about(&c, hooktest.TwoIDs, hooktest.Replayed)
		return c
	}
	troubles, _ := found(t, enqueue(func(inbox.Event) string { return "in_1 is paid" }))
	require.Empty(t, troubles)
	troubles, texts := found(t, enqueue(func(e inbox.Event) string { return fmt.Sprintf("%s of %d", e.EventID, e.Generation) }))
	require.Equal(t, []hooktest.Trouble{hooktest.TwoIDs, hooktest.Replayed}, troubles)
	require.Contains(t, texts[hooktest.Replayed], "+ effect evt_1 of 2 for crm")
}

func TestCasesThatSayNothingAreErrors(t *testing.T) {
	t.Parallel()
	fine := invoices(t, `id text PRIMARY KEY, amount bigint, status text, as_of timestamptz`, setInvoice)
	for want, change := range map[string]func(c *hooktest.Case){
		"Make is required":                        func(c *hooktest.Case) { c.Make = nil },
		"State is required":                       func(c *hooktest.Case) { c.State = nil },
		"Events is empty: give at least one":      func(c *hooktest.Case) { c.Events = nil },
		"there are 9 Events; at most 8 are tried": func(c *hooktest.Case) { c.Events = make([]hooktest.Event, 9) },
		"Events[0] has no ID":                     func(c *hooktest.Case) { c.Events = []hooktest.Event{{Type: "a"}} },
		"event evt_1 has no Type":                 func(c *hooktest.Case) { c.Events = []hooktest.Event{{ID: "evt_1"}} },
		`Without names "earthquake"`:              func(c *hooktest.Case) { c.Without = []hooktest.Trouble{"earthquake"} },
		"two Events have the ID evt_1":            func(c *hooktest.Case) { c.Events[1].ID = "evt_1" },
		"State differs between two undisturbed trial": func(c *hooktest.Case) {
			c.State = func(context.Context, hooktest.World) (any, error) { return map[string]any{"id": uuid.New()}, nil }
		},
		"the handler fails without any trouble: event evt_1 has failed: ": func(c *hooktest.Case) {
			c.Make = func(context.Context, hooktest.World) (worker.HandlerFunc, error) {
				return func(context.Context, pgx.Tx, inbox.Event) error { return worker.GiveUp("no such invoice") }, nil
			}
		},
		"State: read the state: ": func(c *hooktest.Case) { c.State = hooktest.Query(`SELECT * FROM nowhere`) },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := fine
			c.Events = append([]hooktest.Event(nil), fine.Events...)
			change(&c)
			findings, err := hooktest.Find(t.Context(), c)
			require.ErrorContains(t, err, want)
			require.Empty(t, findings)
		})
	}
}
