package commit_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A transaction is retried until its outcome is known, so it must recognise its own rows.
func ExampleDB_Do() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	db, err := commit.New(commit.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE payments (invoice text PRIMARY KEY)`); err != nil {
		log.Fatal(err)
	}

	tries := 0
	err = db.Do(ctx, "pay", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if tries++; tries == 1 {
			return commit.ErrTryAgain // as if a row had changed between two statements
		}
		_, err := tx.Exec(ctx, `INSERT INTO payments VALUES ('in_1') ON CONFLICT DO NOTHING`)
		return err
	})
	fmt.Println("tries:", tries, "error:", err)
	// Output:
	// tries: 2 error: <nil>
}

// Concurrent callers share transactions, and one bad member fails alone.
func ExampleNewGroup() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	db, err := commit.New(commit.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE amounts (amount integer PRIMARY KEY CHECK (amount > 0))`); err != nil {
		log.Fatal(err)
	}
	group := commit.NewGroup(db, "amounts", commit.GroupOptions[int, int]{
		Run: func(ctx context.Context, tx pgx.Tx, amounts []int) ([]int, error) {
			_, err := tx.Exec(ctx, `INSERT INTO amounts SELECT unnest($1::integer[]) ON CONFLICT DO NOTHING`, amounts)
			return amounts, err
		},
	})

	amounts := []int{5, -1, 7}
	committed := make([]bool, len(amounts))
	var callers sync.WaitGroup
	for i, amount := range amounts {
		callers.Go(func() {
			_, err := group.Submit(ctx, amount)
			committed[i] = err == nil
		})
	}
	callers.Wait()
	fmt.Println(committed, group.Stop(ctx))
	// Output:
	// [true false true] <nil>
}
