package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// attempting adds the steps of a worker with the job of an effect, or with a probe (T3).
func (m *machine) attempting(s *State, w int) {
	actor, f := workerOf(w), effectOfJob(s.Workers[w].Job)
	worker := s.Workers[w]
	switch worker.At {
	case workerFetched:
		switch {
		case m.Statement:
			m.runningStatement(s, w)
		case m.bug == bugs.ExternalCallBeforeCommit:
			m.calling(s, w, "effect.before_call effect.request_sent effect.answered", "calls the receiver, before its claim is committed")
		case m.bug == bugs.OrderLockDropped:
			m.takingTurn(s, w)
		default:
			m.claiming(s, w)
		}
	case workerTurn:
		m.claiming(s, w)
	case workerUnsure:
		// The claim id stays the same, so a committed claim is granted again.
		m.claiming(s, w)
		if m.bug == bugs.ExternalCallBeforeCommit {
			return
		}
		m.step(s, actor, free, "", "stops requesting its claim", func(n *State) { n.Workers[w].At = workerTakeBack })
	case workerTakeBack:
		m.transaction(s, actor, "take_back_claim", "withdraws the claim, if it was committed: no receiver was called", func(n *State) {
			m.settle(n, w, f, verdictNotApplied)
		}, func(n *State) { n.Workers[w].ends(true) })
	case workerGranted:
		if worker.Body == 0 {
			m.fixing(s, w)
			return
		}
		passes := "effect.before_call effect.request_sent effect.answered"
		if worker.Born {
			passes = "effect.born " + passes
			m.step(s, actor, byCrash, "worker.draining effect.born", "is shut down and calls no receiver", func(n *State) {
				n.Workers[w].At, n.Workers[w].Verdict = workerAnswered, verdictNotApplied
			})
		}
		m.calling(s, w, passes, "calls the receiver")
		if s.Effects[f].LeaseOver || s.Effects[f].ClaimedBy != holder(w) {
			m.step(s, actor, free, "effect.before_call", "calls no receiver: too little of its lease is left", func(n *State) {
				n.Workers[w].At, n.Workers[w].Verdict = workerAnswered, verdictNotApplied
			})
		}
	case workerAnswered:
		m.settling(s, w)
	case workerSettled:
		m.concluding(s, w)
	default:
	}
}

// claiming adds the first half of T3. If a claim gets no response, the worker claims again, or
// withdraws the claim, because it has called no receiver.
func (m *machine) claiming(s *State, w int) {
	f := effectOfJob(s.Workers[w].Job)
	probe := s.Workers[w].Probe
	said := granted
	m.transactionOr(s, workerOf(w), free, "claim", "claims the effect", func(n *State) {
		said = m.claim(n, w, f, probe)
	}, func(n *State) {
		worker := &n.Workers[w]
		if said != granted && m.bug != bugs.ExternalCallBeforeCommit {
			// An earlier try may have been granted a claim that an operator has since withdrawn.
			// That try called no receiver.
			n.Effects[f].Open = n.Effects[f].Open.minus(holder(w))
		}
		switch {
		case said == granted && m.bug == bugs.ExternalCallBeforeCommit:
			worker.At = workerAnswered
		case said == granted && m.bug == bugs.DoneBeforeWork:
			worker.At, worker.Body, worker.Verdict = workerAnswered, n.Effects[f].Body, verdictDone
		case said == granted:
			worker.At, worker.Body = workerGranted, n.Effects[f].Body
		case probe:
			worker.At = workerSettled
		default:
			worker.ends(said == waits)
		}
	}, func(n *State) { n.Workers[w].At = workerUnsure })
}

// fixing renders the request of a late effect and commits it before any call, so that all attempts
// send the same request (I7).
func (m *machine) fixing(s *State, w int) {
	f := effectOfJob(s.Workers[w].Job)
	m.transaction(s, workerOf(w), "fix_request", "renders the request with the current routes and commits it", func(n *State) {
		row := &n.Effects[f]
		if row.State != started || row.ClaimedBy != holder(w) {
			return
		}
		if row.Body == 0 {
			row.Body = Version(n.Routes)
		}
		row.Open = row.Open.with(holder(w))
	}, func(n *State) {
		worker := &n.Workers[w]
		worker.Body = n.Effects[f].Body
		if row := n.Effects[f]; row.State != started || row.ClaimedBy != holder(w) {
			worker.At, worker.Verdict = workerAnswered, verdictNotApplied // the claim is lost, so no receiver is called
		}
	})
}

// calling adds one step for each outcome of the call. The receiver decides on its reaction when the
// request arrives, so the request and the reaction are one step.
func (m *machine) calling(s *State, w int, passes, does string) {
	for _, answer := range []struct {
		verdict Verdict
		cost    Cost
		does    string
	}{
		{verdictDone, free, ", which confirms"},
		{verdictRefused, byFault, ", which refuses permanently"},
		{verdictTurnedAway, byFault, ", which rejects it for now"},
		{verdictNotApplied, byFault, ", which cannot be reached"},
		{verdictMaybeApplied, byFault, " and gets no response"},
	} {
		m.step(s, workerOf(w), answer.cost, passes, does+answer.does, func(n *State) { m.call(n, w, answer.verdict) })
	}
}

func (m *machine) call(n *State, w int, verdict Verdict) {
	worker := &n.Workers[w]
	f := effectOfJob(worker.Job)
	row := &n.Effects[f]
	event := n.Events[m.eventOfEffect(f)]
	if event.Rows == 0 || event.Dispatched == 0 && event.Generation == 1 {
		n.Broken = I9
	}
	if worker.At == workerFetched { // external_call_before_commit
		worker.Body = row.Body
		if m.AtMostOnce && row.Open != 0 {
			n.Broken = I8
		}
		row.Open = row.Open.with(holder(w))
	}
	sent := worker.Body
	if m.bug == bugs.NewKeyOnRetry && row.Attempts > 1 {
		sent = mixed
	}
	switch row.Sent {
	case 0, sent:
		row.Sent = sent
	default:
		row.Sent = mixed
	}
	if verdict == verdictDone {
		row.Confirmed = true
	}
	worker.Verdict = verdict
	if worker.At == workerFetched {
		worker.At = workerUnsure // the claim follows the call
		return
	}
	worker.At = workerAnswered
}

// settling adds the second half of T3. If the response to a settlement was lost, the next try finds
// the attempt's recorded outcome.
func (m *machine) settling(s *State, w int) {
	f, verdict := effectOfJob(s.Workers[w].Job), s.Workers[w].Verdict
	does := "records the outcome of its attempt"
	if !m.mayBeSettled(&s.Effects[f], w) {
		does = "records nothing: it no longer holds the claim, or the outcome is recorded"
	}
	m.transaction(s, workerOf(w), "settle", does, func(n *State) {
		worker := &n.Workers[w]
		if !worker.Settled {
			worker.Settled = m.settle(n, w, f, verdict)
			worker.Again = !worker.Settled || n.Effects[f].State.unfinished()
		}
	}, func(n *State) {
		worker := &n.Workers[w]
		if worker.Probe || m.Breaker && !verdict.isDone() {
			worker.At = workerSettled
			return
		}
		worker.ends(worker.Again)
	})
}

func (v Verdict) isDone() bool { return v == verdictDone }

// ends reports to River how the run ended. If again is true, the job must run once more. An attempt
// without a job reports nothing to River.
func (worker *Worker) ends(again bool) {
	if worker.Born {
		*worker = Worker{}
		return
	}
	*worker = Worker{At: workerEnding, Job: worker.Job, Row: worker.Row, Detached: worker.Detached, Probe: worker.Probe, Again: again}
}
