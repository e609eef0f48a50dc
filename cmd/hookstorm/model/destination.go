package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// refuses reports whether a claim has to wait. A probe may pass an open breaker, but not an
// operator's pause.
func (d Destination) refuses(probe bool, bug bugs.Bug) bool {
	if probe && bug == bugs.ProbePassesPause {
		return false
	}
	return d.Paused || d.Breaker != closed && !probe
}

// probing lets an idle worker probe a destination whose breaker is not closed. The worker also
// takes over a half-open breaker from a prober that died or stalls.
func (m *machine) probing(s *State, w int) {
	if s.Destination.Breaker == closed || s.Destination.Paused {
		return
	}
	cost := free
	for _, worker := range s.Workers {
		if worker.Probe {
			cost = byFault // the other prober stalls past its lease
		}
	}
	for f := range effects {
		if !m.isDue(s, f) {
			continue
		}
		m.transactionOr(s, workerOf(w), cost, "begin_probe", "begins a probe of the destination", func(n *State) {
			n.Destination.Breaker = halfOpen
		}, func(n *State) {
			n.Workers[w] = Worker{At: workerFetched, Job: effectJob(f), Probe: true}
		}, func(*State) {})
	}
}

// concluding ends an attempt. A failed attempt may open a closed breaker. A successful probe closes
// the breaker, and a failed probe opens it again. A probe that called no receiver changes nothing.
func (m *machine) concluding(s *State, w int) {
	worker := s.Workers[w]
	f := effectOfJob(worker.Job)
	ends := func(n *State) { n.Workers[w].ends(worker.Again) }
	switch {
	case worker.Probe && worker.Body == 0:
		m.step(s, workerOf(w), free, "", "called no receiver: another probe follows", ends)
	case worker.Probe && worker.Verdict.isDone():
		m.transaction(s, workerOf(w), "close_breaker", "closes the breaker", func(n *State) { n.Destination.Breaker = closed }, ends)
	case worker.Probe:
		m.transaction(s, workerOf(w), "fail_probe", "opens the breaker again", func(n *State) {
			if n.Destination.Breaker == halfOpen {
				n.Destination.Breaker = open
			}
		}, ends)
	default:
		m.step(s, workerOf(w), free, "", "sees no reason yet to pause the destination", ends)
		if s.Destination.Breaker == closed && s.Effects[f].State != done {
			m.transaction(s, workerOf(w), "trip_breaker", "opens the breaker", func(n *State) {
				if n.Destination.Breaker == closed {
					n.Destination.Breaker = open
				}
			}, ends)
		}
	}
}
