package model

// isHead reports whether effect f is not blocked by an earlier effect of its order. Only an effect
// that is not blocked gets a job. An unfinished or parked effect blocks later ones.
func (m *machine) isHead(n *State, f int) bool {
	return !m.Ordered || f == 0 || !n.Effects[0].holdsItsOrder()
}

func (e Effect) holdsItsOrder() bool { return e.State.unfinished() || e.State == parked }

// isTurn reports whether an effect may start. No earlier effect of its order may be unfinished or
// parked. No earlier event may still wait for its dispatch, and no later effect may be running.
func (m *machine) isTurn(n *State, f int) bool {
	if !m.Ordered {
		return true
	}
	if f == 0 {
		return n.Effects[1].State != started
	}
	return !n.Effects[0].holdsItsOrder() && n.Events[0].Outcome != received
}

// wakeNext inserts the job of the next effect if that effect may start after the end of f. The
// transaction holds the lock on the order. So if several effects end simultaneously, the
// transaction that ends the last one sees that the others have ended.
func (m *machine) wakeNext(n *State, f int) {
	next := n.Effects[1].State
	if m.Ordered && f == 0 && !n.Effects[0].holdsItsOrder() && (next == pending || next == inDoubt) {
		n.Jobs[effectJob(1)].insert()
	}
}

// takingTurn adds the check of the order by a claim that does not hold the order's lock. The order
// may have changed when the claim commits.
func (m *machine) takingTurn(s *State, w int) {
	f := effectOfJob(s.Workers[w].Job)
	if !m.Ordered || s.Effects[f].State == started || !m.isTurn(s, f) {
		m.claiming(s, w)
		return
	}
	m.step(s, workerOf(w), free, "claim.begin", "sees that the effect may start", func(n *State) { n.Workers[w].At = workerTurn })
}

// hasTurn reports whether the worker checked the order earlier, without the lock.
func (worker *Worker) hasTurn() bool { return worker.At == workerTurn }
