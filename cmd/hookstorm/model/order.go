package model

// isHead reports whether an effect has a job. In an order, only the first unfinished effect has a
// job. A parked effect blocks later ones.
func (m *machine) isHead(n *State, f int) bool {
	return !m.Ordered || f == 0 || !n.Effects[0].holdsItsOrder()
}

func (e Effect) holdsItsOrder() bool { return e.State.unfinished() || e.State == parked }

// isTurn reports whether an effect may start: no earlier effect is unfinished or still to be
// dispatched, and no later effect is running.
func (m *machine) isTurn(n *State, f int) bool {
	if !m.Ordered {
		return true
	}
	if f == 0 {
		return n.Effects[1].State != started
	}
	return !n.Effects[0].holdsItsOrder() && n.Events[0].Outcome != received
}

// wakeNext inserts the next effect's job if that effect may start now that f ended. The order is
// locked, so if several effects end simultaneously, the last one sees the others.
func (m *machine) wakeNext(n *State, f int) {
	next := n.Effects[1].State
	if m.Ordered && f == 0 && !n.Effects[0].holdsItsOrder() && (next == pending || next == inDoubt) {
		n.Jobs[effectJob(1)].insert()
	}
}

// takingTurn is a claim without the order's lock. Its view of the order may be out of date when
// it commits.
func (m *machine) takingTurn(s *State, w int) {
	f := effectOfJob(s.Workers[w].Job)
	if !m.Ordered || s.Effects[f].State == started || !m.isTurn(s, f) {
		m.claiming(s, w)
		return
	}
	m.step(s, workerOf(w), free, "claim.begin", "sees that the effect may start", func(n *State) { n.Workers[w].At = workerTurn })
}

// hasTurn reports whether the claim checked its order before, without a lock.
func (worker *Worker) hasTurn() bool { return worker.At == workerTurn }
