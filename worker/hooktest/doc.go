// Package hooktest tests what repeated, interrupted and reordered deliveries do to a Go
// handler.
//
// Providers deliver at least once and in any order, processes die, and a person
// replays events. A handler stands all of that when it sets a desired end state,
// and not when it adds to what is there. Which of the two it does is hard to see
// and easy to try: hooktest runs it with a real worker on a real Postgres, once
// undisturbed and then in trouble, and compares what is left each time.
//
//	func TestPaymentsStandTrouble(t *testing.T) {
//		hooktest.Run(t, hooktest.Case{
//			Events: []hooktest.Event{{ID: "evt_1", Type: "invoice.paid", Body: invoicePaid}},
//			Make: func(ctx context.Context, w hooktest.World) (worker.HandlerFunc, error) {
//				_, err := w.DB.Exec(ctx, `CREATE TABLE payments (invoice text PRIMARY KEY, amount bigint)`)
//				return recordPayment, err
//			},
//			State: hooktest.Query(`SELECT invoice, amount FROM payments ORDER BY invoice`),
//		})
//	}
//
// The Postgres is that of package pgtest: its binaries must be installed, nothing
// has to run, and TEST_DATABASE_URL names another server. A TestMain that calls
// pgtest.Main stops it; without one it dies with the test binary.
package hooktest
