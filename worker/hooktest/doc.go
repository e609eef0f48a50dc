// Package hooktest tests how a Go handler copes with repeated, interrupted and reordered
// deliveries.
//
// Providers deliver at least once and in any order, processes die, and operators replay events. A
// handler withstands all of this if it sets a desired end state, but not if it adds to the existing
// state. The difference is hard to see but easy to test. hooktest runs the handler with a real
// worker on a real Postgres, first undisturbed and then with each trouble, and compares the end
// states.
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
// Package pgtest starts Postgres. The binaries must be installed, but no server has to run.
// TEST_DATABASE_URL selects another server. A TestMain that calls pgtest.Main stops the server.
// Without such a TestMain, the server stops when the test binary exits.
package hooktest
