package hooktest_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/hooktest"
)

// A handler that counts is correct only while no event is replayed and none arrives under two ids.
// In your own tests, call Run: it does the same as Find, and fails the test if there are findings.
func ExampleFind() {
	count := func(ctx context.Context, tx pgx.Tx, _ inbox.Event) error {
		_, err := tx.Exec(ctx, `UPDATE stock SET sold = sold + 1`)
		return err
	}
	findings, err := hooktest.Find(context.Background(), hooktest.Case{
		Events: []hooktest.Event{{ID: "evt_1", Type: "order.paid", Body: []byte(`{"order": 7}`)}},
		Make: func(ctx context.Context, w hooktest.World) (worker.HandlerFunc, error) {
			_, err := w.DB.Exec(ctx, `CREATE TABLE stock AS SELECT 0 AS sold`)
			return count, err
		},
		State:   hooktest.Query(`SELECT sold FROM stock`),
		Without: []hooktest.Trouble{hooktest.TwoIDs}, // the shop has one endpoint, and only one event type announces the sale
	})
	for _, found := range findings {
		fmt.Println(found)
	}
	fmt.Println(err)
	// Output:
	// replayed: each event was handled, and replayed right afterwards.
	// Something happened more than once: the handler adds to the stored state instead of setting the new state.
	//   - {"sold":1}
	//   + {"sold":2}
	// <nil>
}
