package alarm

import (
	"slices"
	"time"
)

const (
	// DefaultFor is that of Options.For.
	DefaultFor = 2 * time.Minute
	// DefaultRepeat is that of Options.Repeat.
	DefaultRepeat = 4 * time.Hour
	// comesWithin is how long it may take until what was told has come: then the next one
	// is told.
	comesWithin = time.Minute
	// goneFor is how long nothing must need a person before it has ended.
	goneFor = time.Minute
)

// state is what is known of something that needs a person.
type state struct {
	Alert

	BeganAt   time.Time
	SeenAt    time.Time
	ToldAt    time.Time // zero: nobody was
	TimesTold int
	Target    int    // who was told last
	EffectKey string // that told it
	Came      bool   // and it has
}

type stateKey struct{ Name, Subject string }

func (s *state) key() stateKey { return stateKey{s.Name, s.Subject} }

// decision is who is told of what, at a moment.
type decision struct {
	now     time.Time
	to      func(Alert) []int // who is to be told, as places among the targets
	targets int               // how many there are
	lasts   time.Duration
	repeat  time.Duration
	muted   map[string]bool // conditions

	messages []Message
}

// decide compares what was known with what is found. It returns what is known now, and
// what has ended.
func (d *decision) decide(known []*state, found []Alert) (keep []*state, gone []stateKey) {
	now := map[stateKey]Alert{}
	for _, one := range found {
		now[stateKey{one.Name, one.Subject}] = one
	}
	for _, s := range known {
		one, still := now[s.key()]
		delete(now, s.key())
		if !still && d.now.Sub(s.SeenAt) >= goneFor {
			if s.TimesTold > 0 && s.Target < d.targets {
				d.tell(s, Ended)
			}
			gone = append(gone, s.key())
			continue
		}
		if still {
			s.Alert, s.SeenAt = one, d.now
			d.update(s)
		}
		keep = append(keep, s)
	}
	for _, one := range found { // in their order
		if _, isNew := now[stateKey{one.Name, one.Subject}]; isNew {
			s := &state{Alert: one, BeganAt: d.now, SeenAt: d.now}
			d.update(s)
			keep = append(keep, s)
		}
	}
	return keep, gone
}

// update has it told when it is time.
func (d *decision) update(s *state) {
	to := d.to(s.Alert)
	if d.muted[s.Name] || len(to) == 0 || d.now.Sub(s.BeganAt) < max(d.lasts, s.For) {
		return
	}
	switch {
	case s.TimesTold == 0, d.now.Sub(s.ToldAt) >= d.repeat:
		s.Target = to[0]
		s.TimesTold++
	case !s.Came && d.now.Sub(s.ToldAt) >= comesWithin:
		next := slices.Index(to, s.Target) + 1
		if next >= len(to) {
			return
		}
		s.Target = to[next]
	default:
		return
	}
	s.ToldAt = d.now
	what := Lasts
	if s.TimesTold == 1 {
		what = Began
	}
	d.tell(s, what)
}

// tell adds a message to whoever is told.
func (d *decision) tell(s *state, what What) {
	d.messages = append(d.messages, Message{
		What: what, Alert: s.Alert, BeganAt: s.BeganAt, At: d.now, target: s.Target, times: s.TimesTold, state: s,
	})
}
