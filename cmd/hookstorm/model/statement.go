package model

// runningStatement adds an attempt at an effect in the same Postgres. Claim, statement and
// settlement are one transaction, and no receiver is called.
func (m *machine) runningStatement(s *State, w int) {
	f := effectOfJob(s.Workers[w].Job)
	said := granted
	ended := func(n *State) { n.Workers[w].ends(said == waits || n.Effects[f].State.unfinished()) }
	m.transaction(s, workerOf(w), "run_effect", "claims the effect, runs its statement and records it as done", func(n *State) {
		if n.Workers[w].Settled {
			return // an earlier try was committed, and recorded the outcome
		}
		if said = m.claim(n, w, f, false); said == granted {
			n.Effects[f].Applied++
			n.Effects[f].Confirmed = true
			n.Workers[w].Settled = m.settle(n, w, f, verdictDone)
		}
	}, ended)
	if s.Workers[w].Settled || !s.Effects[f].State.unfinished() {
		return
	}
	for _, failure := range []struct {
		verdict Verdict
		does    string
	}{
		{verdictRefused, "records that the statement was refused and rolled back"},
		{verdictNotApplied, "records that the statement failed and was rolled back"},
	} {
		m.transactionOr(s, workerOf(w), byFault, "settle_rolled_back", failure.does, func(n *State) {
			if said = m.claim(n, w, f, false); said == granted {
				n.Workers[w].Settled = m.settle(n, w, f, failure.verdict)
			}
		}, ended, func(*State) {})
	}
}
