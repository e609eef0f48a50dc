package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSourcesOfOneCellLeaveTheOthersRoom(t *testing.T) {
	t.Parallel()
	f := newFlights(flightLimits{arriving: 100, all: 8, perSource: 4, perCell: 4, perAddress: 100})
	place := func(source, cell string) (*flight, admission) {
		one := &flight{from: origin{source: source}, cell: cell, known: true}
		require.Equal(t, admitted, f.arrive(one))
		return one, f.place(one)
	}
	var waiting []*flight
	for _, source := range []string{"a", "b", "a", "b"} {
		one, came := place(source, "away")
		require.Equal(t, admitted, came)
		waiting = append(waiting, one)
	}
	refused, came := place("c", "away")
	require.Equal(t, refusedCell, came)
	f.leave(refused)
	for range 4 {
		_, came := place("d", "main")
		require.Equal(t, admitted, came)
	}
	for _, one := range waiting {
		f.leave(one)
	}
	_, came = place("c", "away")
	require.Equal(t, admitted, came)
}
