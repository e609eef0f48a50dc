package alarm

import (
	"slices"
	"time"
)

const (
	// DefaultFor is the default of Options.For.
	DefaultFor = 2 * time.Minute
	// DefaultRepeat is the default of Options.Repeat.
	DefaultRepeat = 4 * time.Hour
	// comesWithin is the maximum time until a notification is delivered. After that, the next
	// target is notified.
	comesWithin = time.Minute
	// goneFor is how long a condition must be false before its alert resolves.
	goneFor = time.Minute
)

// state is the stored state of a firing alert.
type state struct {
	Alert

	BeganAt   time.Time
	SeenAt    time.Time
	ToldAt    time.Time // zero if no target has been notified
	TimesTold int
	Target    int    // last notified target
	EffectKey string // key of the effect that notified the target
	Came      bool   // true if that notification was delivered
}

type stateKey struct{ Name, Subject string }

func (s *state) key() stateKey { return stateKey{s.Name, s.Subject} }

// decision collects the messages to send at one moment.
type decision struct {
	now          time.Time
	to           func(Alert) []int // indexes of the targets to notify
	destinations []string          // the destination of each target
	lasts        time.Duration
	repeat       time.Duration
	muted        map[string]bool // muted conditions

	messages []Message
}

// decide compares the stored alerts with those that fire now. It returns the states to store,
// and the keys of the alerts that resolved.
func (d *decision) decide(known []*state, found []Alert) (keep []*state, gone []stateKey) {
	now := map[stateKey]Alert{}
	for _, one := range found {
		now[stateKey{one.Name, one.Subject}] = one
	}
	for _, s := range known {
		one, still := now[s.key()]
		delete(now, s.key())
		if !still && d.now.Sub(s.SeenAt) >= goneFor {
			if s.TimesTold > 0 {
				d.end(s)
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
	for _, one := range found { // found has a fixed order, and the map now has none
		if _, isNew := now[stateKey{one.Name, one.Subject}]; isNew {
			s := &state{Alert: one, BeganAt: d.now, SeenAt: d.now}
			d.update(s)
			keep = append(keep, s)
		}
	}
	return keep, gone
}

// update adds a notification of the alert, if one is due: the first one, a repetition, or one to
// the next target.
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
		next := slices.Index(to, d.notified(s)) + 1
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

// end adds the notification that the alert has resolved, for the last notified target. If the
// configuration no longer has that target, the notification is for the alert's first target.
func (d *decision) end(s *state) {
	if s.Target = d.notified(s); s.Target < 0 {
		to := d.to(s.Alert)
		if len(to) == 0 {
			return
		}
		s.Target = to[0]
	}
	d.tell(s, Ended)
}

// notified returns the current index of the last notified target, or -1. The list of targets may
// have changed since, so the target's destination decides, not its former index.
func (d *decision) notified(s *state) int {
	destination := destinationOf(s.EffectKey)
	if s.Target < len(d.destinations) && d.destinations[s.Target] == destination {
		return s.Target
	}
	return slices.Index(d.destinations, destination)
}

// tell adds a message for a state's target.
func (d *decision) tell(s *state, what What) {
	d.messages = append(d.messages, Message{
		What: what, Alert: s.Alert, BeganAt: s.BeganAt, At: d.now, target: s.Target, times: s.TimesTold, state: s,
	})
}
