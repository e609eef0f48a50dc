package quarantine

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func address(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, byte(n >> 8), byte(n)}), 32)
}

// offer adds a request of the given size if the line has room, and reports whether it had room.
func (l *line) offer(from, size int) bool {
	room, _ := l.makeRoom(address(from), size)
	if room {
		l.join(&pending{Refused: Refused{From: address(from)}, size: size})
	}
	return room
}

func TestAFullLineIsSharedEvenly(t *testing.T) {
	t.Parallel()
	l := newLine(12, 1000)
	for range 100 {
		l.offer(1, 10)
	}
	require.Len(t, l.waiting, 12, "a single address may use the whole queue")
	for range 100 {
		l.offer(2, 10)
	}
	for range 100 {
		l.offer(3, 10)
	}
	require.Len(t, l.waiting, 12)
	for n := 1; n <= 3; n++ {
		require.InDelta(t, 4, l.byAddress[address(n)], 1, n)
	}
	require.Equal(t, 120, l.bytes)

	taken := l.take(5, 1000)
	require.Len(t, taken, 5)
	require.Equal(t, address(1), taken[0].From, "the first request leaves first")
	require.Len(t, l.take(100, 1000), 7)
	require.Zero(t, l.bytes)
	require.Empty(t, l.byAddress)
}

func TestALineIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	l := newLine(100, 1000)
	require.False(t, l.offer(1, 1001))
	for range 3 {
		require.True(t, l.offer(1, 300))
	}
	require.True(t, l.offer(2, 200), "the address with the most requests loses one")
	require.LessOrEqual(t, l.bytes, 1000)
	require.Len(t, l.take(10, 350), 1, "take stops at the limit of bytes")
}
