package model

// crashing adds the failures of processes, jobs and Postgres. Each transaction adds the failures of
// its COMMIT, and each call the failures of the receiver.
func (m *machine) crashing(s *State) {
	for i, send := range s.Sends {
		switch send.At {
		case sendWaits, sendAcked, sendEnded:
		default:
			m.step(s, gatewayOf(i), byCrash, "", "is killed", func(n *State) {
				if n.Sends[i].At == sendEarly {
					n.Sends[i].At = sendAcked
					return
				}
				n.Sends[i].At = sendEnded
			})
		}
	}
	for w, worker := range s.Workers {
		if worker.At == workerIdle {
			continue
		}
		m.step(s, workerOf(w), byCrash, "", "is killed and restarted", func(n *State) { n.kill(w) })
		if worker.At == workerFetched && !worker.Probe && !worker.Detached {
			m.step(s, workerOf(w), byCrash, "worker.draining", "is shut down and gives its job back", func(n *State) {
				n.Workers[w].ends(true)
			})
		}
		if !worker.Probe && !worker.Detached {
			m.step(s, actorRiver, byFault, "", "rescues a job whose worker is stalled but alive: "+jobNames[worker.Job], func(n *State) {
				n.Workers[w].Detached = true
				n.Jobs[worker.Job][worker.Row] = waiting
			})
		}
	}
	for job, found := range s.Jobs {
		for row, state := range found {
			if state == waiting {
				m.step(s, actorOperator, byFault, "", "deletes a job in River UI: "+jobNames[job], func(n *State) {
					n.drop(job, row)
					n.JobsLost = true
				})
			}
		}
	}
	for e, event := range s.Events {
		if event.Rows > 0 && !event.Flushed && event.Outcome == received {
			m.step(s, actorPostgres, byCrash, "", "is killed: the WAL that was not on disk is lost", func(n *State) { n.remove(e) })
		}
	}
}

// kill ends a worker's run. The run's claims, and its attempts that may have been applied, pass to
// the holder gone.
func (s *State) kill(w int) {
	for f := range s.Effects {
		row := &s.Effects[f]
		if row.ClaimedBy == holder(w) {
			row.ClaimedBy = gone
		}
		if row.Open.has(holder(w)) {
			row.Open = row.Open.minus(holder(w)).with(gone)
		}
	}
	s.Workers[w] = Worker{}
}

// reloading changes the routes of all processes at once.
func (m *machine) reloading(s *State) {
	next := *s
	if spend(&next.Left.Reloads) {
		m.step(&next, actorOperator, byPerson, "", "changes the routes", func(n *State) { n.Routes++ })
	}
}
