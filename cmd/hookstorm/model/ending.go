package model

// isEnd reports whether everything that needs no operator is finished. Every event is then
// dispatched or given up, and every effect has ended or waits for an operator.
func (m *machine) isEnd(s *State) bool {
	for _, send := range s.Sends {
		if send.At != sendAcked && send.At != sendEnded {
			return false
		}
	}
	for _, worker := range s.Workers {
		if worker.At != workerIdle {
			return false
		}
	}
	for e, event := range s.Events {
		if event.Outcome == received || s.Jobs[dispatchJob(e)].live() {
			return false
		}
	}
	for f, effect := range s.Effects {
		if !m.waitsForPerson(s, f) && (effect.State.unfinished() || s.Jobs[effectJob(f)].live()) {
			return false
		}
	}
	return true
}

// waitsForPerson reports whether only an operator can let the effect continue.
func (m *machine) waitsForPerson(s *State, f int) bool {
	return s.Destination.Paused || !m.isHead(s, f) && s.Effects[0].State == parked
}
