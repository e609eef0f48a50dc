package find_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// rare is the number of rare rows that testdata/fill.sql creates.
const rare = 5

// bundle is a Finder on its own database, whose statements are logged.
type bundle struct {
	*find.Finder

	box  *outbox.Outbox
	pool *pgxpool.Pool
	log  *explained.Log

	mu      sync.Mutex
	matches []find.Match // indexed by the number that is the condition's text
}

// match returns a condition that decides like m.
func (b *bundle) match(m find.Match) find.Content {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.matches = append(b.matches, m)
	return find.Content{When: strconv.Itoa(len(b.matches) - 1)}
}

func (b *bundle) condition(_ context.Context, text string) (find.Match, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := strconv.Atoi(text)
	if err != nil {
		return find.Match{}, err
	}
	return b.matches[i], nil
}

func setup(t *testing.T) *bundle {
	t.Helper()
	admin := pgtest.New(t)
	if !explained.Available(t.Context(), admin) {
		t.Skip("this build of Postgres has no auto_explain")
	}
	config, err := pgxpool.ParseConfig(pgtest.URL(t, admin))
	require.NoError(t, err)
	log := explained.Watch(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	box, err := outbox.New(outbox.Options{Pool: admin, ReadPool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, box.Stop(ctx))
	})
	b := &bundle{box: box, pool: admin, log: log}
	b.Finder = box.Finder().With(b.condition)
	return b
}

// filled returns a bundle with 20,000 events and effects, or a million with HOOKLATCH_LONG=1. The
// tables are not analysed.
func filled(t *testing.T) (b *bundle, rows int) {
	t.Helper()
	b, rows = setup(t), 20_000
	if os.Getenv("HOOKLATCH_LONG") != "" {
		rows = 1_000_000
	}
	text, err := os.ReadFile("testdata/fill.sql")
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), strings.ReplaceAll(string(text), ":rows", strconv.Itoa(rows)))
	require.NoError(t, err)
	return b, rows
}

// cost is the number of table and index pages that Postgres read for statements, and the
// statements' total time and plans.
type cost struct {
	pages int
	time  time.Duration
	plans string
}

// costOf returns the cost since the last call.
func (b *bundle) costOf(t *testing.T) cost {
	t.Helper()
	ran, err := b.log.Take()
	require.NoError(t, err)
	var c cost
	for _, s := range ran {
		c.pages += s.Buffers
		c.time += s.Took
		c.plans += s.Text + "\n" + s.Plan + "\n"
	}
	return c
}

// The method accept stores one event with the body, and returns the event.
func (b *bundle) accept(t *testing.T, source, id, body string) *inbox.Event {
	t.Helper()
	_, err := b.box.Accept(t.Context(), outbox.Delivery{
		Source: identity.Source(source), Provider: "stripe", ContentType: "application/json", Body: []byte(body),
		Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "invoice.paid"}},
	})
	require.NoError(t, err)
	e, err := b.box.Inbox().Event(t.Context(), identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)})
	require.NoError(t, err)
	return e
}

// dispatch dispatches an event with one effect.
func (b *bundle) dispatch(t *testing.T, e *inbox.Event) {
	t.Helper()
	_, err := b.box.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: []ledger.NewEffect{{
		EffectID: identity.EffectID{Scope: identity.ScopeOfRoute(e.Source, "all"), Key: identity.Key(e.EventID), Generation: 1},
		Route:    "all", Destination: "app", Queue: "dst_app", Request: ledger.Request{Method: "POST", Body: []byte(`{}`)},
	}}})
	require.NoError(t, err)
}

// ids returns the ids of events, in their order.
func ids(events []*inbox.Event) []string {
	var names []string
	for _, e := range events {
		names = append(names, string(e.EventID))
	}
	return names
}
