package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// The bodies in a world that deduplicates by content: the body of both sends, and the body of an
// earlier delivery of event 1.
const (
	ofSends uint8 = iota + 1
	ofBefore
)

// isStored reports whether a body is stored with any event.
func (s *State) isStored(body uint8) bool {
	for _, event := range s.Events {
		if event.Rows > 0 && event.Stored && event.Body == body {
			return true
		}
	}
	return false
}

// cameBefore adds the acceptance of an earlier delivery of the first event, with another body. This
// delivery turns the event's send into a duplicate whose body is not stored.
func (m *machine) cameBefore(s *State, actor Actor, i int) {
	e := m.eventOf(i)
	if !m.Contents || e > 0 || s.Events[e].Rows > 0 {
		return
	}
	m.step(s, actor, byPerson, "", "has accepted the event before, with another body", func(n *State) {
		n.Events[e].Sent = true
		n.accept(e)
		n.Events[e].Body = ofBefore
	})
}

// acceptingByContent adds T1 in a world where a repeat of a stored body is a duplicate. Only a
// stored event opens its body's window.
func (m *machine) acceptingByContent(s *State, actor Actor, i int) {
	e := m.eventOf(i)
	does := "commits the event with its job, and opens its body's window"
	switch {
	case s.Events[e].Rows > 0:
		does = "commits nothing new: it is a duplicate"
	case s.Window > 0:
		does = "commits nothing new: another event has its body"
	}
	m.transaction(s, actor, "accept", does, func(n *State) {
		switch {
		case n.Events[e].Rows > 0 && m.bug != bugs.WindowOfADuplicate, n.Events[e].Rows == 0 && n.Window > 0:
		case n.Events[e].Rows > 0:
			n.Window = uint8(e) + 1 //nolint:gosec // the model has two events
		default:
			n.accept(e)
			n.Events[e].Body, n.Window = ofSends, uint8(e)+1 //nolint:gosec // the model has two events
		}
	}, func(n *State) { n.Sends[i].At = sendStored })
}
