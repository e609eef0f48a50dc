package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// dispatching adds the steps of a worker with the job of an event (T2).
func (m *machine) dispatching(s *State, w int) {
	actor, e := workerOf(w), eventOfJob(s.Workers[w].Job)
	event := s.Events[e]
	switch s.Workers[w].At {
	case workerFetched:
		if event.Outcome != received {
			m.step(s, actor, free, "", "finds that the event was already dispatched", func(n *State) { n.Workers[w].ends(false) })
			return
		}
		// The worker makes the plan outside a transaction. The plan's generation is the fence.
		m.step(s, actor, free, "", "loads the event and plans its effect", func(n *State) {
			n.Workers[w].At, n.Workers[w].Plan = workerPlanned, n.Events[e].Generation
		})
	case workerPlanned:
		if m.isLeft(s, w) {
			m.transaction(s, actor, "dispatch", "leaves the event to the newest configuration and commits nothing",
				func(*State) {}, func(n *State) { n.Workers[w].ends(true) })
			return
		}
		does := "passes the fence and commits the effect with its job"
		if !event.isOpenFor(s.Workers[w].Plan) {
			does = "does not pass the fence and commits nothing"
		}
		m.transaction(s, actor, "dispatch", does,
			func(n *State) { m.dispatch(n, w, e, s.Workers[w].Plan) },
			func(n *State) { n.Workers[w].ends(false) })
		if event.isOpenFor(s.Workers[w].Plan) {
			// The step above leaves the job to River: either this run is not the job's first, or
			// another transaction has locked the job.
			m.transaction(s, actor, "dispatch", does+", and ends its own job", func(n *State) {
				passes := n.Events[e].isOpenFor(n.Workers[w].Plan)
				m.dispatch(n, w, e, n.Workers[w].Plan)
				if passes {
					n.endRunning(w)
				}
			}, func(n *State) { n.Workers[w].ends(false) })
			m.bearing(s, w)
		}
		// The last attempt to plan the event failed.
		m.transactionOr(s, actor, byFault, "fail_dispatch", "gives up the event", func(n *State) {
			if row := &n.Events[e]; row.isOpenFor(s.Workers[w].Plan) {
				row.Outcome = failedToDispatch
			}
		}, func(n *State) { n.Workers[w].ends(false) }, func(*State) {})
	default:
	}
}

// bearing adds a T2 that also claims its effect, if the effect can begin with its first attempt. A
// worker that gets no response claims again, and the event's job runs again.
func (m *machine) bearing(s *State, w int) {
	e := eventOfJob(s.Workers[w].Job)
	f := m.effectOf(e, s.Events[e].EffectGeneration)
	if s.Workers[w].Plan > 1 || !m.mayBeBorn(s, f) {
		return
	}
	goesOn := func(n *State, at WorkerStep) { n.isBorn(w, f, at) }
	const does = "passes the fence and commits the effect, its claim and a fallback job"
	bear := func(n *State) {
		m.dispatch(n, w, e, n.Workers[w].Plan)
		m.grant(n, w, f, false)
	}
	unsure := func(n *State) { goesOn(n, workerUnsure) }
	m.transactionOr(s, workerOf(w), free, "dispatch", does, bear, func(n *State) {
		n.endRunning(w)
		goesOn(n, workerGranted)
	}, unsure)
	m.transactionOr(s, workerOf(w), free, "dispatch", does+", and ends its own job", func(n *State) {
		bear(n)
		n.endRunning(w)
	}, func(n *State) { goesOn(n, workerGranted) }, unsure)
}

// mayBeBorn reports whether the effect can begin with its first attempt.
func (m *machine) mayBeBorn(s *State, f int) bool {
	return !m.AtMostOnce && !m.Ordered && !m.Late && !m.Statement && s.Effects[f].State == missing && !s.Destination.refuses(false, m.bug)
}

// isBorn lets worker w continue with the first attempt of an effect.
func (s *State) isBorn(w, f int, at WorkerStep) {
	worker := Worker{At: at, Job: effectJob(f), Row: rows, Detached: true, Born: true}
	if s.Effects[f].ClaimedBy == holder(w) {
		worker.Row, worker.Body = 0, s.Effects[f].Body // a new effect has no other job
	}
	s.Workers[w] = worker
}

// isOpenFor reports whether the event still waits for its dispatch, in the planned generation. This
// check is the fence.
func (e Event) isOpenFor(plan uint8) bool { return e.Outcome == received && e.Generation == plan }

// dispatch performs T2 in the database: the fence, the handlers' writes, the effect and its job. If
// the key already has an effect, dispatch creates no other (I4).
func (m *machine) dispatch(n *State, w, e int, plan uint8) {
	row := &n.Events[e]
	if !row.isOpenFor(plan) && m.bug != bugs.DispatchWithoutFence {
		return
	}
	if n.Configured[w] < n.Newest {
		n.Broken = NewestDecides
	}
	row.Outcome = dispatched
	row.Dispatched++
	f := m.effectOf(e, row.EffectGeneration)
	if n.Effects[f].State != missing {
		return
	}
	n.Effects[f].State = pending
	if !m.Late {
		n.Effects[f].Body = 1
	}
	if m.isHead(n, f) {
		n.Jobs[effectJob(f)].insert()
	}
}
