package lookup_test

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// bundle is a Lookup on a separate database.
type bundle struct {
	*lookup.Lookup

	box     *outbox.Outbox
	pool    *pgxpool.Pool
	refused *quarantine.Quarantine
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := pgtest.New(t)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, box.Stop(ctx))
	})
	refused, err := quarantine.New(quarantine.Options{Pool: pool, Ledger: box.Ledger()})
	require.NoError(t, err)
	names := lookup.Names{Sources: []string{"github", "stripe"}, Destinations: []string{"app", "crm"}, Routes: []string{"paid"}, Searched: []string{"stripe"}}
	return &bundle{box: box, pool: pool, refused: refused, Lookup: lookup.New(lookup.Options{
		Outbox: box, Quarantine: refused, Names: func() lookup.Names { return names },
	})}
}

func (b *bundle) accept(t *testing.T, source, id string) *inbox.Event {
	t.Helper()
	_, err := b.box.Accept(t.Context(), outbox.Delivery{
		Source: identity.Source(source), Provider: source, ContentType: "application/json", Body: []byte(`{"customer":"cus_42"}`),
		Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "invoice.paid"}},
	})
	require.NoError(t, err)
	ref := identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
	e, err := b.box.Inbox().Event(t.Context(), ref)
	require.NoError(t, err)
	return e
}

// effect dispatches an event, and returns the key of its effect.
func (b *bundle) effect(t *testing.T, e *inbox.Event) string {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, policy, config_hash) VALUES ('app', 'http', 'dst_app', 'at_least_once', '')`)
	require.NoError(t, err)
	id := identity.EffectID{Scope: identity.ScopeOfRoute(e.Source, "paid"), Key: identity.Key(e.EventID), Generation: 1}
	_, err = b.box.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: []ledger.NewEffect{{
		EffectID: id, Route: "paid", Destination: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce,
		Request: ledger.Request{Method: http.MethodPost, URL: "https://app.example/hook"},
	}}, SearchValues: []string{"cus_42", "jane@example.com"}})
	require.NoError(t, err)
	return id.IdempotencyKey()
}

func (b *bundle) refuse(t *testing.T) (id string) {
	t.Helper()
	keeper, err := quarantine.NewKeeper(quarantine.KeeperOptions{Pool: b.pool, Timeout: time.Minute})
	require.NoError(t, err)
	keeper.Keep("stripe", netip.MustParsePrefix("203.0.113.7/32"), 1, func() quarantine.Refused {
		return quarantine.Refused{Source: "stripe", Reason: "wrong_signature", Method: http.MethodPost, Host: "hooks.example", Target: "/webhooks/stripe", Body: []byte("x")}
	})
	var found []quarantine.Delivery
	require.Eventually(t, func() bool {
		found, err = b.refused.List(t.Context(), quarantine.Filter{}, 1)
		return err == nil && len(found) == 1
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, keeper.Stop(t.Context()))
	return found[0].ID.String()
}

// found returns the hits of a text, each as "by, of: name".
func (b *bundle) found(t *testing.T, asked lookup.Asked) []string {
	t.Helper()
	hits, _, err := b.Find(t.Context(), asked)
	require.NoError(t, err, asked)
	var all []string
	for _, h := range hits {
		all = append(all, string(h.By)+", "+string(h.Of)+": "+h.Name)
	}
	return all
}

// Every kind of thing is found by every text that names it. A new kind needs an example here.
func TestEveryKindOfThingIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accept(t, "stripe", "evt_1")
	b.accept(t, "github", "evt_1")
	b.accept(t, "stripe", "a/b?c")
	key := b.effect(t, e)
	run, err := b.box.Runs().Begin(t.Context(), runs.Order{
		Action: ledger.ActionRetryEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectFailed}},
	}, ledger.Operator{Who: "ada", Via: "cli", Reason: "the receiver works again"})
	require.NoError(t, err)
	number, refused := strconv.FormatInt(run.ID, 10), b.refuse(t)
	const stripe, github = "events: stripe/evt_1", "events: github/evt_1"
	examples := map[lookup.By]map[string][]string{ // expected hits by kind and text
		lookup.ByEventID:  {"evt_1": {github, stripe}, "a/b?c": {"events: stripe/a/b?c"}},
		lookup.ByEvent:    {"stripe/evt_1": {stripe}, " stripe/a/b?c\n": {"events: stripe/a/b?c"}},
		lookup.ByKey:      {key: {"effects: " + key}, `"` + key + `"`: {"effects: " + key}, key + "_2": {"effects: " + key}},
		lookup.ByRun:      {number: {"runs: " + number}, "run " + number: {"runs: " + number}},
		lookup.ByDelivery: {e.DeliveryID.String(): {stripe}, strings.ToUpper(e.DeliveryID.String()): {stripe}},
		lookup.ByRefused:  {refused: {"quarantine: " + refused}},
		lookup.ByValue:    {"CUS_42": {stripe}, " Jane@example.com ": {stripe}},
		lookup.BySource:   {"github": {"sources: github"}}, lookup.ByDestination: {"crm": {"destinations: crm"}}, lookup.ByRoute: {"paid": {"routes: paid"}},
		lookup.ByAddress: {
			"https://ops.example.com/hooklatch/events/stripe/evt_1?done=x": {stripe}, "http://localhost:8091/events/stripe/-?id=a%2Fb%3Fc": {"events: stripe/a/b?c"},
			"https://ops.example.com/effects/" + key + "/body": {"effects: " + key}, "https://ops.example.com/api/effects/" + key: {"effects: " + key},
			"https://ops.example.com/runs/" + number: {"runs: " + number}, "https://ops.example.com/quarantine/" + refused: {"quarantine: " + refused},
			"https://ops.example.com/sources/stripe": {"sources: stripe"}, "https://ops.example.com/destinations/app": {"destinations: app"},
		},
	}
	for _, by := range lookup.Kinds() {
		require.NotEmpty(t, examples[by], "there is no example of a text that is found by %s", by)
		for text, want := range examples[by] {
			for i := range want {
				want[i] = string(by) + ", " + want[i]
			}
			got := b.found(t, lookup.Asked{Text: text, Values: b.Indexed("")})
			require.ElementsMatch(t, want, got, text)
		}
	}
	require.Equal(t, []string{"event id, " + github}, b.found(t, lookup.Asked{Text: "evt_1", Source: "github"}))
	require.Equal(t, []identity.Source{"stripe"}, b.Indexed("stripe"))
	require.Empty(t, b.Indexed("github"))
	require.Empty(t, b.found(t, lookup.Asked{Text: "cus_42"}), "the caller may search the values of no source")
	hits, _, err := b.Find(t.Context(), lookup.Asked{Text: key})
	require.NoError(t, err)
	require.Equal(t, desk.Target{Name: key}, hits[0].Target)
	require.Equal(t, []string{"pending", "app"}, []string{hits[0].State, hits[0].About})
	require.WithinDuration(t, time.Now(), hits[0].At, time.Hour)
}

// Looking up a text that names nothing is not an error. A text that no row can have is refused.
func TestAnyTextIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "stripe", "evt_1")
	for _, text := range []string{
		"%", "_", "evt_%", "*", "stripe/", "/evt_1", "hl_", "hl_" + strings.Repeat("0", 40), "(a+)+$", "'; DROP TABLE x; --", "run 0", "999999999999999999999",
		"00000000-0000-0000-0000-000000000000", "{0198f6a2-4be2-7cc1-9d0c-3f0f5b0a7c11}", "0198f6a2-4be2-7cc1-9d0c-3f0f5b0a7c11", "http://", "http://[::1", "https://x/events",
		"https://x/events/stripe", "https://x/events/stripe/%00", "https://x/events/stripe/-?id=%ff", "https://x/runs/", "https://x/runs/99999999999999999999", "https://x/%zz",
		strings.Repeat("x", lookup.MaxText), "\u202e", "ünï",
	} {
		require.Empty(t, b.found(t, lookup.Asked{Text: text}), text)
	}
	for text, want := range map[string]error{
		"": lookup.ErrEmpty, " \n": lookup.ErrEmpty, strings.Repeat("x", 10_000): lookup.ErrLong, "a\x00": lookup.ErrBytes, "a\xff": lookup.ErrBytes,
	} {
		_, _, err := b.Find(t.Context(), lookup.Asked{Text: text})
		require.ErrorIs(t, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := b.Find(ctx, lookup.Asked{Text: "evt_1"})
	require.ErrorIs(t, err, context.Canceled)
}
