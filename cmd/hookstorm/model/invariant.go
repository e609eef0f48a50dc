package model

// Invariant is a promise that a state can break. The numbers are from docs/guarantees.md. I12 is
// about secrets, which the model does not have.
type Invariant uint8

// The invariants.
const (
	Intact Invariant = iota
	I1
	I2
	I3
	I4
	I5
	I6
	I7
	I8
	I9
	I10
	I11
	LeaseKept // during an attempt's lease only an operator withdraws its claim
	OrderKept // effects of one order run one after another
	PauseKept // no attempt starts during an operator's pause
	NewestDecides
)

var invariants = [...]string{
	Intact:    "nothing is broken",
	I1:        "I1: every delivery answered 2xx has its event stored, together with the job that will process it",
	I2:        "I2: there is one row for each event",
	I3:        "I3: every stored event was validly signed",
	I4:        "I4: an event is dispatched once per generation",
	I5:        "I5: when no more faults happen, all work finishes",
	I6:        "I6: an effect recorded as done was confirmed by the receiver",
	I7:        "I7: all attempts of one effect carry the same key and the same body",
	I8:        "I8: an at_most_once effect is never started again unless every earlier attempt was certainly not applied, or an operator requests it",
	I9:        "I9: no effect runs for an event that is not committed",
	I10:       "I10: an event or effect writes its rows in Postgres once",
	I11:       "I11: every replay is requested by an operator and recorded",
	LeaseKept: "lease: during an attempt's lease only an operator withdraws its claim",
	OrderKept: "order: no two effects of one order run simultaneously",
	PauseKept: "pause: no attempt starts during an operator's pause",

	NewestDecides: "newest: the newest configuration plans an event, whichever process dispatches it",
}

// String describes the promise.
func (i Invariant) String() string { return invariants[i] }

// broken returns the first invariant that a state breaks, or Intact.
func (m *machine) broken(s *State) Invariant {
	if s.Broken != Intact {
		return s.Broken
	}
	for i, send := range s.Sends {
		event := s.Events[m.eventOf(i)]
		if (send.At == sendAcked || send.At == sendEarly) && (event.Rows == 0 || !event.Stored) && !(m.Contents && s.isStored(ofSends)) {
			return I1
		}
	}
	for e, event := range s.Events {
		switch {
		case event.Rows > 1:
			return I2
		case event.Rows > 0 && !event.Sent:
			return I3
		case event.Dispatched > 1:
			return I4 // also I10: the handlers wrote once for each dispatch
		case event.Rows > 0 && event.Generation != 1+event.Replays && event.Stored, event.Replays > event.Ordered:
			return I11
		case event.Stored && event.Outcome == received && !s.Jobs[dispatchJob(e)].live() && !s.JobsLost:
			return I1
		}
	}
	for _, effect := range s.Effects {
		switch {
		case effect.State == done && !effect.Confirmed:
			return I6
		case effect.Sent == mixed:
			return I7
		case effect.Applied > 1:
			return I10
		}
	}
	if m.Ordered && s.Effects[0].State == started && s.Effects[1].State == started {
		return OrderKept
	}
	return Intact
}
