package quarantine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type bundle struct {
	*quarantine.Quarantine

	runs   *runs.Runs
	pool   *pgxpool.Pool
	keeper *quarantine.Keeper
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{pool: pgtest.New(t)}
	b.restart(t)
	box, err := outbox.New(outbox.Options{Pool: b.pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	b.runs = box.Runs()
	b.Quarantine, err = quarantine.New(quarantine.Options{Pool: b.pool, Ledger: box.Ledger()})
	require.NoError(t, err)
	return b
}

// restart replaces the bundle's keeper with a new one, as if the process had restarted.
func (b *bundle) restart(t *testing.T) {
	t.Helper()
	var err error
	b.keeper, err = quarantine.NewKeeper(quarantine.KeeperOptions{Pool: b.pool, Timeout: time.Minute})
	require.NoError(t, err)
	stop := b.keeper.Stop
	t.Cleanup(func() { require.NoError(t, stop(context.Background())) })
}

func from(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 32)
}

// refuse offers the keeper a request with the given body, from the given address.
func (b *bundle) refuse(source identity.Source, address netip.Prefix, body []byte) {
	b.keeper.Keep(source, address, len(body), func() quarantine.Refused {
		return quarantine.Refused{
			Source: source, Reason: "wrong_signature", From: address, Method: "POST", Host: "hooks.example.com", Target: "/webhooks/" + string(source),
			Headers: map[string][]string{"X-Signature": {"00"}}, Body: body,
		}
	})
}

// flush writes the waiting requests, and replaces the keeper.
func (b *bundle) flush(t *testing.T) {
	t.Helper()
	require.NoError(t, b.keeper.Stop(t.Context()))
	b.restart(t)
}

func (b *bundle) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func TestRefusedDeliveriesComeBackWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := []byte("\x00\xff {\"id\": \"a\"}")
	given := quarantine.Refused{
		Source: "stripe", Reason: "wrong_signature", Detail: "wrong_signature: no\x00ne", From: from(7), Method: "POST", Host: "hooks.example.com",
		Secure: true, Target: "/webhooks/stripe?a=b%20c", Headers: map[string][]string{"X-A": {"1", "2"}, "X-Sig": {"v1=00"}},
		Secrets: map[string][]secret.Value{"header Authorization": {secret.New("Bearer canary-secret-71")}}, Body: body,
	}
	b.keeper.Keep("stripe", from(7), len(body), func() quarantine.Refused { return given })
	body[0] = 'x' // the caller may change the body again
	b.flush(t)

	found, err := b.Next(t.Context(), quarantine.Filter{}, quarantine.Mark{}, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	d := found[0]
	require.Equal(t, "\x00\xff {\"id\": \"a\"}", string(d.Body))
	require.Equal(t, given.Headers, d.Headers)
	require.Equal(t, []any{given.Source, given.Reason, given.Method, given.Host, given.Secure, given.Target, "10.0.0.7/32", false},
		[]any{d.Source, d.Reason, d.Method, d.Host, d.Secure, d.Target, d.From, d.Known})
	require.WithinDuration(t, time.Now(), d.RejectedAt, time.Minute)
	require.True(t, d.CarriedAs("header Authorization", []string{"Bearer canary-secret-71"}))
	require.False(t, d.CarriedAs("header Authorization", []string{"Bearer canary-secret-72"}))
	require.False(t, d.CarriedAs("header Authorization", nil))
	require.False(t, d.CarriedAs("header X-Other", []string{"Bearer canary-secret-71"}))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries AS r WHERE r::text LIKE '%canary%'`))

	listed, err := b.List(t.Context(), quarantine.Filter{Source: "stripe", Reason: "wrong_signature"}, 10)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, d.ID, listed[0].ID)
	for _, none := range []quarantine.Filter{{Source: "github"}, {Reason: "x"}, {Until: d.RejectedAt}} {
		listed, err := b.List(t.Context(), none, 10)
		require.NoError(t, err)
		require.Empty(t, listed)
	}
}

// Each source may have 1,000 rows. Half of them are for addresses from which deliveries were
// accepted. All other addresses share the other half evenly.
func TestRowsAreShared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeper.Accepted("stripe", from(1))
	b.fill(t, "stripe", 1, 700, 10)
	b.fill(t, "stripe", 2, 700, 10)
	for n := 3; n < 53; n++ { // 50 others
		b.fill(t, "stripe", n, 4, 10)
	}
	b.fill(t, "github", 2, 10, 10)
	require.Equal(t, 500, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE source = 'stripe' AND known AND address = '10.0.0.1'`))
	require.Equal(t, 500, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE source = 'stripe' AND NOT known`))
	require.Equal(t, 300, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE source = 'stripe' AND address = '10.0.0.2'`), "the address gets the rows that other addresses leave")
	require.Equal(t, 10, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE source = 'github'`))
	require.Equal(t, 200, b.count(t, `SELECT min(convert_from(body, 'UTF8')::integer) FROM hooklatch.rejected_deliveries WHERE address = '10.0.0.1'`), "the newest deliveries stay")
}

// fill offers n numbered requests of one size. It writes them in groups of 50, so that the Keeper
// loses none.
func (b *bundle) fill(t *testing.T, source identity.Source, address, n, size int) {
	t.Helper()
	for i := range n {
		body := fmt.Appendf(nil, "%d", i)
		if size > len(body) && size > 100 {
			body = append(body, bytes.Repeat([]byte(" "), size-len(body))...)
		}
		b.refuse(source, from(address), body)
		if i%50 == 49 {
			b.flush(t)
		}
	}
	b.flush(t)
}

// Addresses share each source's 64 MiB in the same way as its rows.
func TestBytesAreShared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(t, "stripe", 2, 3, 10)
	for n := 10; n < 80; n++ { // 140 requests of 256 KiB
		b.fill(t, "stripe", n, 2, 256<<10)
	}
	require.LessOrEqual(t, b.count(t, `SELECT sum(bytes) FROM hooklatch.rejected_deliveries WHERE NOT known`), 32<<20)
	require.Greater(t, b.count(t, `SELECT sum(bytes) FROM hooklatch.rejected_deliveries WHERE NOT known`), 30<<20)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE address = '10.0.0.2'`), "small deliveries are kept beside large deliveries")
	require.Equal(t, 71, b.count(t, `SELECT count(DISTINCT address) FROM hooklatch.rejected_deliveries`))
}

// A flood is written at no more than 20 rows a second, and known addresses get half of these rows.
func TestFloodIsWrittenSlowly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeper.Accepted("stripe", from(1))
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
	defer cancel()
	var flood sync.WaitGroup
	for w := range 4 {
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				b.refuse("stripe", from(1000+n%200*4+w), []byte("{}"))
				time.Sleep(50 * time.Microsecond) //nolint:forbidigo // a rate needs real time
			}
		})
	}
	for n := range 100 {
		b.refuse("stripe", from(1), fmt.Append(nil, n))
	}
	flood.Wait()
	rows := b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`)
	unknown := b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE NOT known`)
	turns := 1 + int(time.Since(began)/time.Second)
	require.LessOrEqual(t, rows, 20*turns)
	require.LessOrEqual(t, unknown, 10*turns)
	require.NoError(t, b.keeper.Stop(t.Context()))
	require.Equal(t, 100, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE known`), "the known senders' deliveries waited for their turn")
}

func TestOthersLearnWhichAddressesAreKnown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeper.Accepted("stripe", from(1))
	b.flush(t)
	b.refuse("stripe", from(1), []byte("{}"))
	b.refuse("github", from(1), []byte("{}"))
	b.flush(t)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE known AND source = 'stripe'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE NOT known AND source = 'github'`), "the address is known only for the other source")

	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.known_addresses SET accepted_at = now() - interval '31 days'`)
	require.NoError(t, err)
	b.flush(t)
	b.refuse("stripe", from(1), []byte("{}"))
	b.flush(t)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE NOT known AND source = 'stripe'`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.known_addresses`))
}

func TestOldOnesAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuse("stripe", from(1), []byte("old"))
	b.flush(t)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.rejected_deliveries SET rejected_at = now() - interval '8 days'`)
	require.NoError(t, err)
	found, err := b.Next(t.Context(), quarantine.Filter{}, quarantine.Mark{}, 10)
	require.NoError(t, err)
	require.Empty(t, found)
	b.refuse("github", from(1), []byte("new"))
	b.flush(t)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`))
}

// The operator log records each operator action. An action on a selection is one record.
func TestOrdersAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 5 {
		b.refuse("stripe", from(n), []byte("{}"))
	}
	b.refuse("github", from(1), []byte("{}"))
	b.flush(t)
	by := ledger.Operator{Who: "alice", Via: "cli", Reason: "the secret is right now", RequestID: "order-1"}
	f := quarantine.Filter{Source: "stripe"}
	shares, err := b.Count(t.Context(), f)
	require.NoError(t, err)
	require.Len(t, shares, 1)
	require.EqualValues(t, 5, shares[0].Count)

	first, err := b.Next(t.Context(), f, quarantine.Mark{}, 2)
	require.NoError(t, err)
	second, err := b.Next(t.Context(), f, first[1].Mark(), 1)
	require.NoError(t, err)
	require.NotEqual(t, first[1].ID, second[0].ID)
	onward, err := b.Onward(t.Context(), f, quarantine.Mark{}, 3)
	require.NoError(t, err)
	require.Equal(t, ids(append(first, second...)), ids(onward), "Onward returns the same deliveries as Next")
	for _, read := range []func(context.Context, quarantine.Filter, quarantine.Mark, int) ([]quarantine.Delivery, error){b.Next, b.Onward} {
		all, err := read(t.Context(), f, quarantine.Mark{}, 0)
		require.NoError(t, err)
		require.Len(t, all, 5, "a limit of 0 means 50")
	}
	for _, d := range onward {
		at, err := quarantine.ParseMark(d.Mark().String())
		require.NoError(t, err)
		require.Equal(t, d.Mark().String(), at.String())
	}
	require.NoError(t, b.Accepted(t.Context(), first[0].ID, by))
	there, err := b.Drop(t.Context(), first[1].ID, by)
	require.NoError(t, err)
	require.True(t, there)
	there, err = b.Drop(t.Context(), first[1].ID, ledger.Operator{Who: "bea", Via: "cli"})
	require.NoError(t, err)
	require.False(t, there)
	by.RequestID = "order-2"
	run, err := b.runs.Through(t.Context(), runs.Order{Action: quarantine.ActionDrop, Quarantine: f}, by, nil)
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 3, Changed: 3}, run.Counts)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE who = 'alice' AND filter->>'source' = 'stripe' AND run_id = $1`, run.ID))
	require.Equal(t, 2, b.count(t, `SELECT sum(affected) FROM hooklatch.operator_log WHERE who = 'alice' AND target IN ($1, $2)`, first[0].ID.String(), first[1].ID.String()))
}

// Deliveries that are still refused stay. Deliveries that arrive after the operator's count also
// stay, because no other copy of them exists.
func TestARetryTakesOutWhatWasAcceptedAndNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{"right", "wrong", "right too"} {
		b.refuse("stripe", from(1), []byte(body))
	}
	b.refuse("github", from(1), []byte("right"))
	b.flush(t)
	duplicates := int64(1) // the delivery "right too", which the first run removes
	for name, f := range map[string]quarantine.Filter{"of all time": {Source: "stripe"}, "until tomorrow": {Source: "stripe", Until: time.Now().Add(24 * time.Hour)}} {
		shares, err := b.Count(t.Context(), f)
		require.NoError(t, err)
		b.refuse("stripe", from(1), []byte("right, "+name))
		b.flush(t)
		verifying := b.runs.Verifying(func(_ context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
			if string(d.Body) == "wrong" {
				return quarantine.Verdict{Refused: "wrong_signature"}, nil
			}
			return quarantine.Verdict{New: string(d.Body) != "right too"}, nil
		})
		run, err := verifying.Through(t.Context(), runs.Order{Action: quarantine.ActionRetry, Quarantine: f.UntilNow(shares)}, ledger.Operator{Who: "alice", Via: "cli"}, nil)
		require.NoError(t, err)
		require.Equal(t, runs.Counts{
			Selected: shares[0].Count, Changed: shares[0].Count - 1,
			Came: runs.Came{Duplicates: duplicates, Refused: map[string]int64{"wrong_signature": 1}},
		}, run.Counts, name)
		require.Zero(t, run.Moved())
		duplicates = 0
		left, err := b.Next(t.Context(), quarantine.Filter{}, quarantine.Mark{}, 10)
		require.NoError(t, err)
		var bodies []string
		for _, d := range left {
			bodies = append(bodies, string(d.Body))
		}
		require.ElementsMatch(t, []string{"wrong", "right", "right, " + name}, bodies)
	}
	require.Equal(t, quarantine.Filter{Until: time.Time{}.Add(time.Microsecond)}, quarantine.Filter{}.UntilNow(nil), "nothing was counted, so the filter selects nothing")
}

// An error of the verification is not a verdict, so the run verifies the delivery again. If the
// first try accepted the delivery, the second try finds a duplicate.
func TestARunVerifiesAgainWhatItHasNoVerdictOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{"one", "two", "three"} {
		b.refuse("stripe", from(1), []byte(body))
		b.flush(t)
	}
	accepted := map[string]int{}
	away := true
	r := b.runs.Verifying(func(_ context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
		body := string(d.Body)
		accepted[body]++
		if body == "two" && away { // the delivery was accepted despite the error
			away = false
			return quarantine.Verdict{}, errors.New("the database is away")
		}
		return quarantine.Verdict{New: accepted[body] == 1}, nil
	})
	by := ledger.Operator{Who: "alice", Via: "cli"}
	run, err := r.Begin(t.Context(), runs.Order{Action: quarantine.ActionRetry}, by)
	require.NoError(t, err)
	other, err := b.runs.Work(t.Context(), run.ID, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	require.Equal(t, run, other, "a process that cannot verify leaves the run to other processes")
	run, err = r.Work(t.Context(), run.ID, time.Now().Add(time.Hour), nil)
	require.ErrorContains(t, err, "the database is away")
	require.Equal(t, runs.Running, run.State)
	require.Equal(t, runs.Counts{Selected: 1, Changed: 1}, run.Counts)
	run, err = r.Carry(t.Context(), run, nil)
	require.NoError(t, err)
	require.Equal(t, runs.Done, run.State)
	require.Equal(t, runs.Counts{Selected: 3, Changed: 3, Came: runs.Came{Duplicates: 1}}, run.Counts)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`))
}

// A single delivery is verified by its id, immediately and without a run.
func TestOneDeliveryIsRetriedByItsId(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuse("stripe", from(1), []byte("wrong"))
	b.refuse("stripe", from(1), []byte("right"))
	b.flush(t)
	kept, err := b.Next(t.Context(), quarantine.Filter{}, quarantine.Mark{}, 2)
	require.NoError(t, err)
	by := ledger.Operator{Who: "alice", Via: "cli"}
	came := quarantine.Retried{Refused: map[string]int64{}}
	for _, d := range append(kept, kept...) {
		one, err := b.Retry(t.Context(), d.ID, by, func(_ context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
			if string(d.Body) == "wrong" {
				return quarantine.Verdict{Refused: "wrong_signature"}, nil
			}
			return quarantine.Verdict{New: true}, nil
		})
		require.NoError(t, err)
		came.Accepted += one.Accepted
		came.Refused["wrong_signature"] += one.Refused["wrong_signature"]
	}
	require.Equal(t, quarantine.Retried{Accepted: 1, Refused: map[string]int64{"wrong_signature": 2}}, came)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'quarantine.retry'`))
}

func ids(of []quarantine.Delivery) []uuid.UUID {
	var ids []uuid.UUID
	for _, d := range of {
		ids = append(ids, d.ID)
	}
	return ids
}

// The addresses with the latest accepted deliveries stay. A sender that changes its address is
// known at the new address, even after many changes.
func TestTheAddressesThatWereAcceptedLastStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `
		INSERT INTO hooklatch.known_addresses (source, address, accepted_at)
		SELECT 'stripe', '10.0.0.0'::inet + n, now() - make_interval(mins => n)
		FROM generate_series(1, 5000) AS n`)
	require.NoError(t, err)
	b.keeper.Accepted("stripe", from(1))
	b.refuse("stripe", from(1), []byte("{}"))
	b.flush(t)
	left := b.count(t, `SELECT count(*) FROM hooklatch.known_addresses`)
	require.Less(t, left, 5000)
	require.Equal(t, left-1, b.count(t, `SELECT count(*) FROM hooklatch.known_addresses WHERE address <<= '10.0.0.0/8' AND accepted_at >= now() - make_interval(mins => $1)`, left))
}
