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

// Unknown senders use only a part of a cell's commit slots. A sender that is verified no longer
// counts among them.
func TestUnknownSendersLeaveKnownSendersOfACellRoom(t *testing.T) {
	t.Parallel()
	f := newFlights(flightLimits{arriving: 100, all: 100, perSource: 100, perCell: 8, perAddress: 100})
	var flying []*flight
	place := func(source string, known bool) admission {
		one := &flight{from: origin{source: source}, cell: "away", known: known}
		require.Equal(t, admitted, f.arrive(one))
		flying = append(flying, one)
		return f.place(one)
	}
	for range 6 {
		require.Equal(t, admitted, place("a", false))
	}
	require.Equal(t, refusedCell, place("b", false))
	require.Equal(t, admitted, place("b", true))
	f.prove(flying[0])
	require.Equal(t, admitted, place("b", false), "the slot of the verified sender")
	require.Equal(t, refusedCell, place("b", true), "all slots are taken")
	for _, one := range flying {
		f.leave(one)
	}
	for range 8 {
		require.Equal(t, admitted, place("c", true))
	}
	require.Equal(t, refusedCell, place("c", true))
}
