package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// enqueued returns a ledger with effects for the destination crm, and a function that stops it.
func enqueued(ctx context.Context, keys ...identity.Key) (accounts *ledger.Ledger, stop func()) {
	pool, done := pgtest.Example(ctx)
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	if err := box.Fleet().RegisterDestinations(ctx, []fleet.Destination{{Name: "crm", Kind: "http", Queue: "dst_crm"}}); err != nil {
		log.Fatal(err)
	}
	for _, key := range keys {
		enqueue(ctx, pool, box, key)
	}
	return box.Ledger(), func() {
		if err := box.Stop(ctx); err != nil {
			log.Fatal(err)
		}
		done()
	}
}

func enqueue(ctx context.Context, pool *pgxpool.Pool, box *outbox.Outbox, key identity.Key) {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		request := ledger.Request{ContentType: "application/json", Body: []byte(`{}`)}
		_, err := box.EnqueueTx(ctx, tx, outbox.Enqueue{Key: key, Destination: "crm", Request: request})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}

// crm returns the id of an effect that was enqueued for the destination crm.
func crm(key identity.Key) identity.EffectID {
	return identity.EffectID{Scope: identity.ScopeOfEnqueue("crm"), Key: key, Generation: 1}
}

// attempt claims an attempt of an effect and settles it with a verdict.
func attempt(ctx context.Context, accounts *ledger.Ledger, id identity.EffectID, verdict ledger.Verdict) ledger.Settled {
	claimed, err := accounts.Claim(ctx, ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	settled, err := accounts.Settle(ctx, ledger.Settlement{Effect: claimed.Effect, Verdict: verdict})
	if err != nil {
		log.Fatal(err)
	}
	return settled
}

// A claim grants one attempt, and its settlement records the outcome.
func ExampleLedger_Claim() {
	ctx := context.Background()
	accounts, stop := enqueued(ctx, "order-1001")
	defer stop()

	claim := ledger.Claim{ID: crm("order-1001"), ClaimID: uuid.New(), Lease: time.Minute}
	claimed, err := accounts.Claim(ctx, claim)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(claimed.Status, "attempt", claimed.Effect.Attempt)
	// ... call the receiver, with claimed.Effect.WireKey as its key ...
	settled, err := accounts.Settle(ctx, ledger.Settlement{Effect: claimed.Effect, Verdict: ledger.VerdictDone, ResponseStatus: 200})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(settled.State)
	// Output:
	// granted attempt 1
	// done
}

// EffectsByID loads several effects by their ids. Package find finds the ids by state or
// destination.
func ExampleLedger_EffectsByID() {
	ctx := context.Background()
	accounts, stop := enqueued(ctx, "order-1", "order-2", "order-3")
	defer stop()
	attempt(ctx, accounts, crm("order-2"), ledger.VerdictDone)

	asked := []identity.EffectID{crm("order-1"), crm("order-2"), crm("order-4")}
	effects, err := accounts.EffectsByID(ctx, asked)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range asked {
		fmt.Println(id.Key, effects[id].State)
	}
	// Output:
	// order-1 pending
	// order-2 done
	// order-4
}

// An operator requests another attempt of an effect that the receiver refused, under the same key.
func ExampleLedger_Retry() {
	ctx := context.Background()
	accounts, stop := enqueued(ctx, "order-1001")
	defer stop()
	key := crm("order-1001").IdempotencyKey()
	fmt.Println(attempt(ctx, accounts, crm("order-1001"), ledger.VerdictRefused).State)

	if err := accounts.Retry(ctx, key, ledger.Operator{Who: "ann", Via: "cli", Reason: "the account exists now"}); err != nil {
		log.Fatal(err)
	}
	effect, err := accounts.Effect(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(effect.State)
	// Output:
	// failed
	// pending
}

// A done effect cannot be cancelled; the error contains the effect's state.
func ExampleLedger_Cancel() {
	ctx := context.Background()
	accounts, stop := enqueued(ctx, "order-1", "order-2")
	defer stop()
	attempt(ctx, accounts, crm("order-2"), ledger.VerdictDone)

	by := ledger.Operator{Who: "ann", Via: "cli", Reason: "sent by hand"}
	fmt.Println(accounts.Cancel(ctx, crm("order-1").IdempotencyKey(), by))
	err := accounts.Cancel(ctx, crm("order-2").IdempotencyKey(), by)
	if impossible, ok := errors.AsType[*ledger.StateError](err); ok {
		fmt.Println(impossible.State)
	}
	// Output:
	// <nil>
	// done
}
