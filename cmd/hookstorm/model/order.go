package model

// isHead tells whether an effect has a job: in an order only the first unfinished one
// does. A parked one holds the others up.
func (m *machine) isHead(n *State, f int) bool {
	return !m.Ordered || f == 0 || !n.Effects[0].holdsItsOrder()
}

func (e Effect) holdsItsOrder() bool { return e.State.unfinished() || e.State == parked }

// isTurn tells whether an effect may start: nothing before it is unfinished or still to
// be dispatched, and nothing after it is at work.
func (m *machine) isTurn(n *State, f int) bool {
	if !m.Ordered {
		return true
	}
	if f == 0 {
		return n.Effects[1].State != started
	}
	return !n.Effects[0].holdsItsOrder() && n.Events[0].Outcome != received
}

// wakeNext inserts the job of the effect whose turn comes by what became of f. The
// order is locked, so that of several that end at once the last one sees all.
func (m *machine) wakeNext(n *State, f int) {
	next := n.Effects[1].State
	if m.Ordered && f == 0 && !n.Effects[0].holdsItsOrder() && (next == pending || next == inDoubt) {
		n.Jobs[effectJob(1)].insert()
	}
}

// takingTurn is a claim without the lock of the order: what it saw may be wrong when it
// commits.
func (m *machine) takingTurn(s *State, w int) {
	f := effectOfJob(s.Workers[w].Job)
	if !m.Ordered || s.Effects[f].State == started || !m.isTurn(s, f) {
		m.claiming(s, w)
		return
	}
	m.step(s, workerOf(w), free, "claim.begin", "sees that it is the effect's turn", func(n *State) { n.Workers[w].At = workerTurn })
}

// hasTurn tells whether the claim looked at its order before, without a lock.
func (worker *Worker) hasTurn() bool { return worker.At == workerTurn }
