package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// claimAnswer is the result of a claim.
type claimAnswer uint8

const (
	granted claimAnswer = iota
	waits               // claim again later, because of another lease, a pause, or the order
	over                // no attempt is due, perhaps because this claim parked the effect
)

// move changes an effect's state. Only an effect's creation sets the state without move.
func (m *machine) move(row *Effect, what What, to EffectState) {
	m.moved[Transition{From: row.State, What: what, To: to}] = true
	row.State = to
	if to != started {
		row.ClaimedBy, row.LeaseOver = nobody, false
	}
}

// claim decides whether worker w gets an attempt, under the lock of the row.
func (m *machine) claim(n *State, w, f int, probe bool) claimAnswer {
	row := &n.Effects[f]
	repeated := row.State == started && row.ClaimedBy == holder(w)
	lost := row.State == started && !repeated && (row.LeaseOver || m.bug == bugs.LeaseIgnored)
	unsent := row.Body == 0 // an attempt whose request was never rendered has called no receiver
	switch {
	case repeated:
		return granted
	case row.State == started && !lost:
		return waits
	case !row.State.unfinished():
		return over
	case !lost && !n.Workers[w].hasTurn() && !m.isTurn(n, f):
		return waits
	case lost && !unsent && m.AtMostOnce:
		row.Doubt = true
		m.breakLease(n, row)
		m.move(row, settledMaybeApplied, parked)
		return over
	case row.Forgotten && row.Doubt && !lost:
		m.move(row, keyExpired, parked)
		return over
	case n.Destination.refuses(probe, m.bug):
		return waits
	}
	m.breakLease(n, row)
	m.grant(n, w, f, lost && !unsent)
	return granted
}

// breakLease records a violation if a claim is withdrawn during its lease.
func (m *machine) breakLease(n *State, row *Effect) {
	if row.State == started && !row.LeaseOver {
		n.Broken = LeaseKept
	}
}

func (m *machine) grant(n *State, w, f int, doubt bool) {
	row := &n.Effects[f]
	switch {
	case m.AtMostOnce && row.Open.minus(holder(w)) != 0:
		n.Broken = I8
	case n.Destination.Paused:
		n.Broken = PauseKept
	}
	m.move(row, claimed, started)
	row.ClaimedBy, row.LeaseOver = holder(w), false
	row.Attempts = min(row.Attempts+1, m.Attempts+1) // higher counts make no difference
	row.Doubt = row.Doubt || doubt
	if row.Body != 0 {
		row.Open = row.Open.with(holder(w))
	}
}

// settle records the outcome of worker w's attempt and returns true, if w still holds the claim.
func (m *machine) settle(n *State, w, f int, verdict Verdict) bool {
	row := &n.Effects[f]
	// The attempt ends here, but a call that may have been applied remains in Open.
	switch {
	case verdict.certainlyNotApplied():
		row.Open = row.Open.minus(holder(w))
	case row.Open.has(holder(w)):
		row.Open = row.Open.minus(holder(w)).with(gone)
	}
	if !m.mayBeSettled(row, w) {
		return false
	}
	m.move(row, verdict.what(), m.after(*row, verdict))
	row.Doubt = row.Doubt || verdict == verdictMaybeApplied
	m.wakeNext(n, f)
	// The fallback job ends with the effect, unless a worker is running it.
	if worker := n.Workers[w]; worker.Born && worker.Row != rows && !row.State.unfinished() && n.Jobs[worker.Job][worker.Row] == waiting {
		n.drop(int(worker.Job), int(worker.Row))
	}
	// If the effect is done at its first attempt, its job ends too.
	if worker := n.Workers[w]; !worker.Born && !worker.Probe && row.State == done && row.Attempts == 1 {
		n.endRunning(w)
	}
	return true
}

// mayBeSettled reports whether worker w still holds the claim. This check is the fence of a
// settlement.
func (m *machine) mayBeSettled(row *Effect, w int) bool {
	return row.State == started && (row.ClaimedBy == holder(w) || m.bug == bugs.SettleWithoutFence)
}

// after returns the state of an effect after an attempt.
func (m *machine) after(row Effect, verdict Verdict) EffectState {
	usedUp := row.Attempts >= m.Attempts
	switch verdict {
	case verdictDone:
		return done
	case verdictRefused:
		if row.Doubt {
			return parked // the receiver may refuse because it applied an earlier attempt
		}
		return failed
	case verdictTurnedAway, verdictNotApplied:
		switch {
		case usedUp && verdict == verdictTurnedAway && !row.Doubt:
			return failed
		case usedUp:
			return parked
		case row.Doubt:
			return inDoubt
		}
		return pending
	case verdictMaybeApplied:
	}
	if usedUp || m.AtMostOnce {
		return parked
	}
	return inDoubt
}

// putAside parks or cancels an effect for an operator. A running attempt may still be applied,
// but can no longer settle.
func (m *machine) putAside(n *State, f int, what What, to EffectState) {
	row := &n.Effects[f]
	if row.State == started && row.Body != 0 {
		row.Doubt = true
	}
	m.move(row, what, to)
	m.wakeNext(n, f)
}

// reopen lets a failed, parked or cancelled effect be attempted again. Only an operator requests
// this, and thereby accepts that earlier attempts may have been applied.
func (m *machine) reopen(n *State, f int) {
	row := &n.Effects[f]
	to := pending
	if row.Doubt {
		to = inDoubt
	}
	m.move(row, retriedByPerson, to)
	row.Open, row.Forgotten = 0, false
	if m.isHead(n, f) {
		n.Jobs[effectJob(f)].insert()
	}
}
