package model

// canonical exchanges identical workers and sends, so that one state represents all states that
// differ only in names. This loses nothing. The same rules apply to both workers and to both sends
// of one event. So a state and its twin have the same successors under exchanged names. No
// invariant depends on a name.
//
// A worker's name appears in its position and in the claims and attempts of effects. A send's name
// appears only in its position.
func (w World) canonical(s *State) {
	if !w.TwoEvents && s.Sends[0].At > s.Sends[1].At {
		s.Sends[0], s.Sends[1] = s.Sends[1], s.Sends[0]
	}
	one, other := s.Workers[0].rank(), s.Workers[1].rank()
	one, other = one|uint64(s.Configured[0])<<8, other|uint64(s.Configured[1])<<8 // these bits are unused in a rank
	if one < other || one == other && s.holdings(1) <= s.holdings(2) {
		return
	}
	s.Configured[0], s.Configured[1] = s.Configured[1], s.Configured[0]
	s.Workers[0], s.Workers[1] = s.Workers[1], s.Workers[0]
	for f := range s.Effects {
		row := &s.Effects[f]
		row.ClaimedBy = exchanged[row.ClaimedBy]
		row.Open = row.Open.exchanged()
	}
}

// holdings orders workers of equal rank by the effects whose claims and open attempts they hold.
func (s *State) holdings(h Holder) int {
	holds := 0
	for f, row := range s.Effects {
		if row.ClaimedBy == h {
			holds |= 1 << (2 * f)
		}
		if row.Open.has(h) {
			holds |= 2 << (2 * f)
		}
	}
	return holds
}

// exchanged maps each holder to the holder it becomes when the two workers exchange their names.
var exchanged = [...]Holder{nobody: nobody, 1: 2, 2: 1, gone: gone}

func (s holders) exchanged() holders {
	var twin holders
	for h, other := range exchanged {
		if s.has(Holder(h)) {
			twin = twin.with(other)
		}
	}
	return twin
}

// rank orders workers arbitrarily. Equal ranks mean equal workers.
func (worker *Worker) rank() uint64 {
	rank := uint64(worker.At)<<56 | uint64(worker.Job)<<48 | uint64(worker.Row)<<40 | uint64(worker.Plan)<<32 |
		uint64(worker.Body)<<24 | uint64(worker.Verdict)<<16
	for i, flag := range [...]bool{worker.Detached, worker.Probe, worker.Born, worker.Settled, worker.Again} {
		if flag {
			rank |= 1 << i
		}
	}
	return rank
}
