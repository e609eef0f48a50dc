package model

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// A state and its twin have the same successors under exchanged names. Therefore, visiting one of
// the two is enough.
func TestTwinsHaveTheSameFuture(t *testing.T) {
	t.Parallel()
	for _, w := range Smaller() {
		w.Budget.Faults, w.Budget.Orders = min(w.Budget.Faults, 1), min(w.Budget.Orders, 1)
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			e := exploration{machine: machine{World: w, moved: map[Transition]bool{}}, failpoints: map[string]bool{}}
			violation, err := e.run(t.Context())
			require.NoError(t, err)
			require.Nil(t, violation)
			looked := 0
			for id := uint32(0); id < e.states.n; id += 1 + e.states.n/2000 {
				s := e.states.at(id)
				require.True(t, maps.Equal(e.futures(s), e.futures(w.twin(s))), "state %d and its twin have different successors: %+v", id, s)
				looked++
			}
			require.Greater(t, looked, 500)
		})
	}
}

// twin exchanges everything that canonical exchanges.
func (w World) twin(s State) State {
	if !w.TwoEvents {
		s.Sends[0], s.Sends[1] = s.Sends[1], s.Sends[0]
	}
	s.Workers[0], s.Workers[1] = s.Workers[1], s.Workers[0]
	s.Configured[0], s.Configured[1] = s.Configured[1], s.Configured[0]
	for f := range s.Effects {
		s.Effects[f].ClaimedBy = exchanged[s.Effects[f].ClaimedBy]
		s.Effects[f].Open = s.Effects[f].Open.exchanged()
	}
	return s
}

// futures returns the states that follow from s, in canonical form.
func (e *exploration) futures(s State) map[State]bool {
	follow := map[State]bool{}
	e.successors(&s)
	for _, next := range e.next {
		e.canonical(&next.state)
		follow[next.state] = true
	}
	return follow
}
