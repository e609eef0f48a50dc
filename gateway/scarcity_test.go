package gateway

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// deadlines is a ResponseWriter that remembers its read deadline.
type deadlines struct {
	http.ResponseWriter

	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

func bodyFrom(source, address string, known bool) *flight {
	from := strangers.Address(netip.MustParseAddr(address))
	return &flight{
		from: origin{source: source, address: from}, network: strangers.Network(from), known: known, began: time.Now(),
		connection: http.NewResponseController(&deadlines{}),
	}
}

// If no slot is left, the body that is furthest behind the required rate is evicted. A faster
// body, a later one, or one from a known address stays.
func TestSlowestBodyGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rate = 1000
		f := newFlights(flightLimits{arriving: 8, all: 8, perSource: 8, perAddress: 8})
		begin := func(address string, known bool) *flight {
			one := bodyFrom("orders", address, known)
			require.Equal(t, admitted, f.arrive(one))
			return one
		}
		known := begin("203.0.113.1", true) // the oldest delivery, which sends nothing
		time.Sleep(time.Second)             //nolint:forbidigo // synctest's clock
		fast := begin("198.51.100.1", false)
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		slow := begin("198.51.101.1", false)
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest's clock
		fast.received(5000, rate, time.Now())
		slow.received(1, rate, time.Now())

		second := begin("198.51.102.1", false) // unknown senders may have 3 of a source's 4 slots
		time.Sleep(time.Millisecond)           //nolint:forbidigo // synctest's clock
		third := begin("198.51.103.1", false)
		require.True(t, slow.thrownOut.Load())
		require.False(t, fast.thrownOut.Load())
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		fourth := begin("198.51.104.1", false)
		require.True(t, second.thrownOut.Load(), "second sent nothing, and fast sent something")
		fifth, sixth := begin("198.51.105.1", false), begin("198.51.106.1", false)
		require.True(t, third.thrownOut.Load())
		require.True(t, fast.thrownOut.Load(), "fast sent nothing for a second, however much it had sent before")
		for _, one := range []*flight{known, fourth, fifth, sixth} {
			require.False(t, one.thrownOut.Load())
		}
		all := []*flight{known, fast, slow, second, third, fourth, fifth, sixth}
		require.EqualValues(t, len(all), f.inFlight(), "evicted bodies still count until they leave")
		for _, one := range all {
			f.leave(one)
		}
		require.Zero(t, f.inFlight())
	})
}

// No stage and no share exceeds its limit under any sequence of calls, and nothing is counted
// twice. While all commit slots are free, a known sender is refused only because of the limit for
// its address.
func TestSharesHoldWhateverComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := flightLimits{
			arriving: rapid.IntRange(1, 12).Draw(t, "arriving"), all: rapid.IntRange(1, 12).Draw(t, "all"),
		}
		limits.perSource = rapid.IntRange(1, limits.all).Draw(t, "per source")
		limits.perAddress = rapid.IntRange(1, limits.all).Draw(t, "per address")
		f := newFlights(limits)
		var flying []*flight
		pick := func() *flight { return flying[rapid.IntRange(0, len(flying)-1).Draw(t, "which")] }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				n := rapid.IntRange(0, 9).Draw(t, "address")
				one := bodyFrom(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "source"), fmt.Sprintf("198.51.%d.%d", n/3, n), n >= 7)
				reason := f.arrive(one)
				if reason == admitted {
					flying = append(flying, one)
				} else if one.known && f.placed == (stage{}) {
					require.Equal(t, refusedAddress, reason, "every other slot has a body that can be evicted")
				}
			case 1:
				if len(flying) > 0 {
					if one := pick(); !one.placed {
						f.place(one)
					}
				}
			case 2:
				if len(flying) > 0 {
					if one := pick(); one.placed {
						f.prove(one)
					}
				}
			case 3:
				if len(flying) > 0 {
					one := pick()
					f.leave(one)
					flying = slices.DeleteFunc(flying, func(other *flight) bool { return other == one })
				}
			}
			requireShares(t, f)
		}
		for _, one := range flying {
			f.leave(one)
		}
		require.Equal(t, stage{}, f.arriving)
		require.Equal(t, stage{}, f.placed)
		require.Empty(t, f.byAddress)
		require.Empty(t, f.byNetwork)
		require.Empty(t, f.byOrigin)
		require.Empty(t, f.bodies)
		require.Zero(t, f.count)
	})
}

func requireShares(t *rapid.T, f *flights) {
	within := func(s stage, limit int) {
		require.LessOrEqual(t, s.all, limit)
		require.LessOrEqual(t, s.strangers, strangers.Part(limit))
		require.LessOrEqual(t, s.strangers, s.all)
		require.GreaterOrEqual(t, s.strangers, 0)
	}
	within(f.arriving, f.limits.arriving)
	within(f.placed, f.limits.all)
	for _, of := range f.bySource {
		within(of.arriving, half(f.limits.arriving))
		within(of.placed, f.limits.perSource)
	}
	for _, n := range f.byAddress {
		require.LessOrEqual(t, n, f.limits.perAddress)
	}
	for _, n := range f.byNetwork {
		require.LessOrEqual(t, n, 2*f.limits.perAddress)
	}
	require.Len(t, f.bodies, f.arriving.all)
}
