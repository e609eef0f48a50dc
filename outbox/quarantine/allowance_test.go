package quarantine

import (
	"context"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// simulated returns a Keeper that has no database and reads the time from now. Everything that a
// turn takes counts as written.
func simulated(now *time.Time) *Keeper {
	return &Keeper{
		runner: ondemand.NewRunner(time.Hour, func() {}), addresses: newAddresses(), lost: noop.Int64Counter{},
		known: newLine(knownWaiting, knownWaitingBytes), others: newLine(otherWaiting, otherWaitingBytes),
		now: func() time.Time { return *now }, allowing: make(allowances),
	}
}

// flood offers bodies of one size from 200 addresses for a number of days, always more than a turn
// can write. It returns the bytes and rows written in each hour.
func flood(k *Keeper, now *time.Time, days, size int) (bytes, rows []int) {
	body := make([]byte, size)
	const turns = 360 // per hour
	for hour := range 24 * days {
		bytes, rows = append(bytes, 0), append(rows, 0)
		for turn := range turns {
			for n := range 25 {
				from := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte((25*turn + n) % 200)}), 32)
				k.offer("acme", from, size, func() Refused { return Refused{Source: "acme", From: from, Body: body} })
			}
			batch, _ := k.takeTurn()
			for _, p := range batch {
				bytes[hour] += p.size
				rows[hour]++
			}
			*now = now.Add(time.Hour / turns)
		}
	}
	return bytes, rows
}

// A flood of refused deliveries writes its half of the caps, and then a tenth of that half per hour
// for as long as the flood lasts.
func TestAFloodWritesABoundedAmount(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 10_000, 100_000, maxBody} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			k := simulated(&now)
			bytes, rows := flood(k, &now, 2, size)
			require.LessOrEqual(t, bytes[0], maxBytes/2+maxBytes/20)
			require.LessOrEqual(t, rows[0], maxRows/2+maxRows/20)
			written, kept := 0, 0
			for hour := 2; hour < len(bytes); hour++ {
				require.LessOrEqual(t, bytes[hour], maxBytes/20+2*maxBody, "hour %d", hour)
				require.LessOrEqual(t, rows[hour], maxRows/20+1, "hour %d", hour)
				written, kept = written+bytes[hour], kept+rows[hour]
			}
			require.Positive(t, kept, "some of the rows are replaced")
			require.Less(t, written, 2*24*maxBytes/20+maxBody)
			require.NoError(t, k.runner.Stop(t.Context()))
		})
	}
}

// A flood does not use up the allowance of known senders. The half of known senders is bounded too:
// behind a proxy that is not in trusted_proxies, all senders have the same address.
func TestAFloodTakesNothingOfKnownSenders(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := simulated(&now)
	flood(k, &now, 1, 10_000)
	sender := netip.MustParsePrefix("203.0.113.7/32")
	k.Accepted("acme", sender)
	for range 500 {
		require.True(t, k.offer("acme", sender, 1000, func() Refused { return Refused{Source: "acme", From: sender, Body: make([]byte, 1000)} }))
	}
	kept := 0
	for more := true; more; {
		var batch []*pending
		batch, more = k.takeTurn()
		for _, p := range batch {
			if p.known {
				kept++
			}
		}
	}
	require.Equal(t, maxRows/2, kept)
	require.False(t, k.offer("acme", sender, 1000, func() Refused { return Refused{} }), "its half is full")
	require.True(t, k.offer("shop", sender, 1000, func() Refused { return Refused{Source: "shop", From: sender} }), "another source has its own allowance")
	now = now.Add(time.Hour)
	require.True(t, k.offer("acme", sender, 1000, func() Refused { return Refused{Source: "acme", From: sender} }))
	require.NoError(t, k.runner.Stop(t.Context()))
}

// counter is a metric whose value n the test can read.
type counter struct {
	noop.Int64Counter

	n int64
}

func (c *counter) Add(_ context.Context, n int64, _ ...metric.AddOption) { c.n += n }

// The requests of a sender that has become known meanwhile replace others in the full line of known
// senders. Each request is taken, still waiting, or counted as lost.
func TestARequestThatIsReplacedIsCounted(t *testing.T) {
	t.Parallel()
	now, lost := time.Now(), &counter{}
	k := simulated(&now)
	k.lost = lost
	busy, later := netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("203.0.113.8/32")
	k.Accepted("acme", busy)
	offered := 0
	for range knownWaiting {
		require.True(t, k.offer("acme", busy, 100, func() Refused { return Refused{Source: "acme", From: busy} }))
		offered++
	}
	for range otherWaiting / 2 {
		require.True(t, k.offer("acme", later, 100, func() Refused { return Refused{Source: "acme", From: later} }))
		offered++
	}
	k.Accepted("acme", later)
	batch, _ := k.takeTurn()
	require.Positive(t, lost.n)
	require.Equal(t, offered, len(batch)+len(k.known.waiting)+len(k.others.waiting)+int(lost.n))
	require.NoError(t, k.runner.Stop(t.Context()))
}

// The space that a retry or a drop frees can be filled again at once. Otherwise the Keeper would leave
// out deliveries although the quarantine is almost empty.
func TestEmptiedSpaceIsFilledAgain(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	k, err := NewKeeper(KeeperOptions{Pool: pool, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Stop(context.Background())) })
	k.runner = ondemand.NewRunner(time.Millisecond, k.work)
	var hours atomic.Int64
	began := time.Now()
	k.now = func() time.Time { return began.Add(time.Duration(hours.Load()) * time.Hour) }
	offer := func(n int) bool {
		from := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32)
		return k.offer("shop", from, 10, func() Refused { return Refused{Source: "shop", From: from, Body: make([]byte, 10)} })
	}
	fill := func(rows int) {
		for n := range rows {
			require.True(t, offer(n), "%d are kept", n)
			if waiting := n + 1; waiting%20 == 0 { // the line holds 64
				require.Eventually(t, func() bool {
					var kept int
					err := pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.rejected_deliveries`).Scan(&kept)
					return err == nil && kept == waiting
				}, 2*time.Minute, time.Millisecond)
			}
		}
	}
	fill(maxRows / 2)
	require.False(t, offer(1), "the half is full")

	_, err = pool.Exec(t.Context(), `DELETE FROM hooklatch.rejected_deliveries`)
	require.NoError(t, err)
	hours.Store(1)
	fill(300)
}
