package fleet_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// registered returns a fleet with the destination crm, and a function that stops it.
func registered(ctx context.Context) (destinations *fleet.Fleet, stop func()) {
	pool, done := pgtest.Example(ctx)
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	if err := box.Fleet().RegisterDestinations(ctx, []fleet.Destination{{Name: "crm", Kind: "http", Queue: "dst_crm"}}); err != nil {
		log.Fatal(err)
	}
	return box.Fleet(), func() {
		if err := box.Stop(ctx); err != nil {
			log.Fatal(err)
		}
		done()
	}
}

// An operator pauses a destination during maintenance of its receiver, and resumes it.
func ExampleFleet_SetPaused() {
	ctx := context.Background()
	destinations, stop := registered(ctx)
	defer stop()

	by := ledger.Operator{Who: "ann", Via: "cli", Reason: "maintenance until noon"}
	for _, paused := range []bool{true, false} {
		if err := destinations.SetPaused(ctx, "crm", paused, by); err != nil {
			log.Fatal(err)
		}
		states, err := destinations.Destinations(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s paused: %t %q\n", states[0].Name, states[0].Paused(), states[0].PauseReason)
	}
	// Output:
	// crm paused: true "maintenance until noon"
	// crm paused: false ""
}

// A destination's rate applies to all processes together.
func ExampleFleet_TakeTokens() {
	ctx := context.Background()
	destinations, stop := registered(ctx)
	defer stop()

	const perMinute = 1. / 60
	for range 2 {
		wait, taken, err := destinations.TakeTokens(ctx, "crm", perMinute, 1, 1, 10*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("taken:", taken, "must wait:", wait > 0)
	}
	// Output:
	// taken: true must wait: false
	// taken: false must wait: true
}
