package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// gateway adds the steps of the gateway that handles send i (T1). Both sends may carry the same
// event: a provider delivers again if it gets no response, and some providers deliver twice
// anyway.
func (m *machine) gateway(s *State, i int) {
	actor, e := gatewayOf(i), m.eventOf(i)
	switch s.Sends[i].At {
	case sendWaits:
		m.cameBefore(s, actor, i)
		m.step(s, actor, free, "gateway.body_read gateway.verified", "reads the delivery and finds its signature valid", func(n *State) {
			n.Sends[i].At = sendVerified
			n.Events[e].Sent = true
		})
		m.step(s, actor, free, "gateway.body_read", "answers 401: the delivery is forged", func(n *State) { n.Sends[i].At = sendEnded })
		m.step(s, actor, free, "gateway.draining", "answers 503: it is shutting down", func(n *State) { n.Sends[i].At = sendEnded })
	case sendVerified:
		m.accepting(s, actor, i)
		// The gateway cannot confirm a commit: it was too busy to commit, or its COMMIT got no
		// response in time.
		m.step(s, actor, free, "", "answers 503", func(n *State) { n.Sends[i].At = sendEnded })
	case sendStored:
		m.step(s, actor, free, "gateway.half_answer", "answers 2xx", func(n *State) { n.Sends[i].At = sendAcked })
		if m.bug == bugs.CompensatingDelete {
			m.step(s, actor, byFault, "", "cannot answer, and deletes the event so that the provider may deliver it again", func(n *State) {
				n.remove(e)
				n.Sends[i].At = sendEnded
			})
		}
	case sendLooked, sendKeyed, sendJobless, sendEarly:
		m.acceptingWrongly(s, actor, i)
	case sendAcked, sendEnded:
	}
}

// accepting adds T1: rows, body and job in one transaction, then the response. If the response to a
// COMMIT was lost, the next try finds the row and succeeds.
func (m *machine) accepting(s *State, actor Actor, i int) {
	e := m.eventOf(i)
	stored := func(n *State) { n.Sends[i].At = sendStored }
	if m.Contents {
		m.acceptingByContent(s, actor, i)
		return
	}
	switch m.bug {
	case bugs.AckBeforeCommit:
		m.step(s, actor, free, "gateway.half_answer", "answers 2xx", func(n *State) { n.Sends[i].At = sendEarly })
	case bugs.SelectThenInsert:
		at := sendStored // a duplicate
		if s.Events[e].Rows == 0 {
			at = sendLooked
		}
		m.step(s, actor, free, "accept.begin", "selects the row of the event", func(n *State) { n.Sends[i].At = at })
	case bugs.DedupOwnTransaction:
		known := s.Events[e].Rows > 0
		m.transaction(s, actor, "accept", "commits the key of the event", func(n *State) {
			n.Events[e].Rows = 1
		}, func(n *State) {
			n.Sends[i].At = sendKeyed
			if known {
				n.Sends[i].At = sendStored
			}
		})
	case bugs.JobOutsideTransaction:
		known := s.Events[e].Rows > 0
		m.transaction(s, actor, "accept", "commits the event", func(n *State) {
			if !known {
				n.insert(e)
			}
		}, func(n *State) {
			n.Sends[i].At = sendJobless
			if known {
				n.Sends[i].At = sendStored
			}
		})
	case bugs.BodyHashAsKey:
		// Some providers change the body in every delivery, so each send has its own key.
		m.transaction(s, actor, "accept", "commits the event under the hash of its body", func(n *State) {
			n.accept(e)
			n.Sends[i].At = sendStored // even without a COMMIT response, because the next try finds this send's row
		}, stored)
	default:
		does := "commits the event with its job"
		if s.Events[e].Rows > 0 {
			does = "commits nothing new: it is a duplicate"
		}
		m.transaction(s, actor, "accept", does, func(n *State) {
			if n.Events[e].Rows == 0 {
				n.accept(e)
				n.Events[e].Flushed = m.bug != bugs.SynchronousCommitOff
			}
		}, stored)
		for w := range workers {
			m.planning(s, actor, i, w)
		}
	}
}

// planning adds a T1 that includes the event's T2, because the worker in the gateway's process has
// already planned the event. The effect gets its job, or begins with its first attempt. A worker
// that does not know whether its claim is committed claims again.
func (m *machine) planning(s *State, actor Actor, i, w int) {
	e := m.eventOf(i)
	f := m.effectOf(e, 1)
	if s.Events[e].Rows > 0 || m.isLeft(s, w) || m.bug == bugs.CompensatingDelete { // this bug would break another promise first
		return
	}
	accept := func(n *State) {
		n.insert(e)
		n.Events[e].Flushed = m.bug != bugs.SynchronousCommitOff
		m.dispatch(n, w, e, 1)
	}
	stored := func(n *State) { n.Sends[i].At = sendStored }
	m.transaction(s, actor, "accept", "commits the event with its effect", accept, stored)
	if s.Workers[w].At != workerIdle || !m.mayBeBorn(s, f) {
		return
	}
	m.transactionOr(s, actor, free, "accept", "commits the event with its effect and a claim", func(n *State) {
		accept(n)
		m.grant(n, w, f, false)
	}, func(n *State) {
		stored(n)
		n.isBorn(w, f, workerGranted)
	}, func(n *State) { n.isBorn(w, f, workerUnsure) })
}

// acceptingWrongly adds the second half of a T1 that a planted bug splits in two.
func (m *machine) acceptingWrongly(s *State, actor Actor, i int) {
	e := m.eventOf(i)
	stored := func(n *State) { n.Sends[i].At = sendStored }
	switch s.Sends[i].At {
	case sendEarly:
		m.transaction(s, actor, "accept", "commits the event with its job", func(n *State) {
			if n.Events[e].Rows == 0 {
				n.accept(e)
			}
		}, func(n *State) { n.Sends[i].At = sendAcked })
	case sendLooked:
		m.transactionOr(s, actor, free, "accept", "inserts the event with its job", func(n *State) { n.accept(e) }, stored,
			func(n *State) { n.Sends[i].At = sendVerified }) // the next try selects the row again
	case sendKeyed:
		m.transaction(s, actor, "accept", "commits the event with its job", func(n *State) {
			n.Events[e].Rows = 0
			n.accept(e)
		}, stored)
	case sendJobless:
		m.transaction(s, actor, "accept", "inserts the job", func(n *State) { n.Jobs[dispatchJob(e)].insert() }, stored)
	case sendWaits, sendVerified, sendStored, sendAcked, sendEnded:
	}
}

// insert writes the rows of an event.
func (s *State) insert(e int) {
	row := &s.Events[e]
	row.Rows++
	row.Outcome, row.Generation, row.EffectGeneration = received, 1, 1
	row.Stored, row.Flushed = true, true
}

// accept writes the rows of an event and its job.
func (s *State) accept(e int) {
	s.insert(e)
	s.Jobs[dispatchJob(e)].insert()
}

// remove deletes the rows and jobs of an event.
func (s *State) remove(e int) {
	s.Events[e] = Event{Sent: s.Events[e].Sent}
	s.Jobs[dispatchJob(e)] = Job{}
}
