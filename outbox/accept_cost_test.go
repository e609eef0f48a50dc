package outbox

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Limits on the cost of one accepted event. Both limits are counts, because a duration would depend
// on the machine's load.
const (
	maxAllocsPerEvent = 80 // 65 today
	// maxWALBesideBody limits the WAL written for an event, in bytes, without its body. The WAL has
	// three rows (with a provider's headers and a trace context), six index entries, and no page
	// image. Measured today: 1,912.
	maxWALBesideBody = 2000
)

// costly returns a delivery like Stripe's, with a trace context.
func costly() Delivery {
	d := benchDelivery()
	d.Events = []Incoming{{ID: identity.EventID("evt_" + uuid.NewString()), Type: "invoice.paid", OccurredAt: d.Events[0].OccurredAt}}
	d.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	d.Headers = map[string][]string{
		"Accept": {"*/*; q=0.5, application/xml"}, "Cache-Control": {"no-cache"},
		"Content-Length": {"1010"}, "Content-Type": {"application/json; charset=utf-8"},
		"Stripe-Signature": {"t=1795000000,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"},
		"User-Agent":       {"Stripe/1.0 (+https://stripe.com/docs/webhooks)"},
	}
	return d
}

// acceptTogether accepts as many events simultaneously as fit in one transaction.
func (b *bundle) acceptTogether(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			if _, err := b.Accept(context.Background(), costly()); err != nil {
				t.Errorf("accept: %v", err)
			}
		})
	}
	all.Wait()
}

const together = 64

func TestAcceptAllocatesLittle(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	if raceDetector {
		t.Skip("under the race detector, pools drop objects at random: .ci/run counts without it")
	}
	b := onPool(t, pgtest.New(t), func(opts *Options) { opts.Committers = 1 })
	b.acceptTogether(t) // prepares the statements
	perEvent := math.Inf(1)
	for range 200 { // on a busy machine fewer events share a transaction, which only adds allocations
		if perEvent = min(perEvent, testing.AllocsPerRun(1, func() { b.acceptTogether(t) })/together); perEvent <= maxAllocsPerEvent {
			break
		}
	}
	t.Logf("%.0f allocations for an accepted event", perEvent)
	require.LessOrEqual(t, perEvent, float64(maxAllocsPerEvent))
}

func TestAcceptWritesLittleWAL(t *testing.T) {
	t.Parallel()
	b := onPool(t, pgtest.New(t, pgtest.Own())) // a server has one WAL for all its databases
	const rounds = 20
	logged := func() (bytes int) {
		return b.count(t, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`)
	}
	for range rounds {
		b.acceptTogether(t)
	}
	before := logged()
	for range rounds {
		b.acceptTogether(t)
	}
	beside := (logged()-before)/(rounds*together) - len(benchBody)
	t.Logf("%d bytes of WAL for an accepted event, beside its body", beside)
	require.LessOrEqual(t, beside, maxWALBesideBody)
}
