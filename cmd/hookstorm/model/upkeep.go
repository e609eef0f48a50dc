package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// river restarts idle workers or gives them jobs and probes, records how runs ended, and rescues
// the jobs of dead workers.
func (m *machine) river(s *State) {
	for w := range workers {
		switch s.Workers[w].At {
		case workerIdle:
			m.deploying(s, w)
			m.fetching(s, w)
			m.probing(s, w)
		case workerEnding:
			m.hearing(s, w)
		default:
		}
	}
	for job, found := range s.Jobs {
		for row, state := range found {
			if state == running && !s.isWorked(job, row) {
				m.step(s, actorRiver, free, "", "rescues a job whose worker is dead: "+jobNames[job], func(n *State) { n.Jobs[job][row] = waiting })
			}
		}
	}
}

// fetching gives a worker any waiting job that has work. A worker with an older configuration gets
// no dispatch.
func (m *machine) fetching(s *State, w int) {
	for job := range uint8(jobs) {
		for row := range uint8(rows) {
			if s.Jobs[job][row] == waiting && m.hasWork(s, job) && !(isDispatch(job) && m.isLeft(s, w)) {
				m.step(s, workerOf(w), free, "river.job_fetched", "gets a job: "+jobNames[job], func(n *State) {
					n.Jobs[job][row] = running
					n.Workers[w] = Worker{At: workerFetched, Job: job, Row: row}
				})
			}
		}
	}
}

var jobNames = [jobs]string{"dispatch event 1", "dispatch event 2", "attempt effect 1", "attempt effect 2"}

// hearing updates the row of a job whose run has ended, if the row is running. River does not check
// which run has ended. If a job was rescued and another worker runs it, the end of the first run
// also changes the row.
func (m *machine) hearing(s *State, w int) {
	worker := s.Workers[w]
	job, row := int(worker.Job), int(worker.Row)
	does := "ends its job: " + jobNames[job]
	switch {
	case worker.Probe:
		does = "ends its probe"
	case row == rows || s.Jobs[job][row] != running:
		does = "ends a run whose job River has rescued"
	}
	m.step(s, workerOf(w), free, "", does, func(n *State) {
		n.Workers[w] = Worker{}
		switch {
		case worker.Probe || row == rows || n.Jobs[job][row] != running:
		case !worker.Again:
			n.drop(job, row)
		default:
			n.Jobs[job][row] = waiting
			for other := range n.Workers {
				if n.Workers[other].works(job, row) {
					n.Workers[other].Detached = true
				}
			}
		}
	})
}

// isWorked reports whether a live worker has the row.
func (s *State) isWorked(job, row int) bool {
	for _, worker := range s.Workers {
		if worker.works(job, row) {
			return true
		}
	}
	return false
}

func (worker *Worker) works(job, row int) bool {
	return worker.At != workerIdle && !worker.Probe && !worker.Detached && int(worker.Job) == job && int(worker.Row) == row
}

// hasWork reports whether a waiting job has a reason to run. A job that would have to wait runs
// only when the wait is over.
func (m *machine) hasWork(s *State, job uint8) bool {
	if job < events {
		return true
	}
	f := effectOfJob(job)
	return !s.Effects[f].State.unfinished() || m.isDue(s, f) && !s.Destination.refuses(false, m.bug)
}

// isDue reports whether a claim would be granted if the destination allowed it.
func (m *machine) isDue(s *State, f int) bool {
	row := s.Effects[f]
	switch row.State {
	case pending, inDoubt:
		return m.isTurn(s, f)
	case started:
		return row.LeaseOver || m.bug == bugs.LeaseIgnored
	default:
		return false
	}
}

// passing lets time pass: leases end, keys are forgotten, and the WAL reaches the disk.
func (m *machine) passing(s *State) {
	for f := range effects {
		row := s.Effects[f]
		if row.State == started && !row.LeaseOver {
			cost, does := byFault, "the lease of a live but stalled attempt ends"
			if row.ClaimedBy == gone {
				cost, does = free, "the lease of a lost attempt ends"
			}
			m.step(s, actorTime, cost, "", does, func(n *State) { n.Effects[f].LeaseOver = true })
		}
		if row.State == inDoubt && !row.Forgotten {
			m.step(s, actorTime, byFault, "", "key_ttl has passed: the receiver may have forgotten the key", func(n *State) { n.Effects[f].Forgotten = true })
		}
	}
	for e, event := range s.Events {
		if event.Rows > 0 && !event.Flushed {
			m.step(s, actorPostgres, free, "", "writes the WAL to disk", func(n *State) { n.Events[e].Flushed = true })
		}
	}
}

// reconciling inserts the missing jobs of unfinished work, whatever the reason (I5).
func (m *machine) reconciling(s *State) {
	for job := range uint8(jobs) {
		if !s.Jobs[job].live() && m.lacksJob(s, job) {
			m.transaction(s, actorUpkeep, "reconcile", "enqueues a missing job: "+jobNames[job], func(n *State) {
				n.Jobs[job].insert()
			}, func(*State) {})
		}
	}
}

func (m *machine) lacksJob(s *State, job uint8) bool {
	if m.bug == NothingReconciled {
		return false
	}
	if job < events {
		return s.Events[job].Outcome == received
	}
	f := effectOfJob(job)
	return s.Effects[f].State == started || s.Effects[f].State.unfinished() && m.isHead(s, f)
}
