package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// Order is an operator action.
type Order uint8

const (
	noOrder Order = iota
	orderReplay
	orderReplayNewKeys
	orderRetry
	orderCancel
	orderPark
	orderPause
	orderResume
)

var orders = [...]struct{ transaction, does string }{
	noOrder:            {},
	orderReplay:        {"event.replay", "replays the event"},
	orderReplayNewKeys: {"event.replay", "replays the event with new keys"},
	orderRetry:         {"effect.retry", "retries the effect"},
	orderCancel:        {"effect.cancel", "cancels the effect"},
	orderPark:          {"effect.park", "parks the effect"},
	orderPause:         {"destination.pause", "pauses the destination"},
	orderResume:        {"destination.resume", "resumes the destination"},
}

// operating adds the possible operator actions. An action without a response may be repeated under
// the same request id: the operator log shows whether the action was carried out.
func (m *machine) operating(s *State) {
	if s.Operator.Order != noOrder {
		m.ordering(s, s.Operator.Order, s.Operator.Target)
		m.step(s, actorOperator, byPerson, "", "does not wait for the response", func(n *State) { n.Operator = Operator{} })
		return
	}
	for order := orderReplay; order <= orderResume; order++ {
		for target := range order.targets() {
			if m.isPossible(s, order, int(target)) {
				m.ordering(s, order, target)
			}
		}
	}
}

func (o Order) targets() uint8 {
	switch o {
	case orderReplay, orderReplayNewKeys:
		return events
	case orderRetry, orderCancel, orderPark:
		return effects
	case noOrder, orderPause, orderResume:
	}
	return 1
}

// isPossible reports whether the action fits the state of its target.
func (m *machine) isPossible(s *State, order Order, target int) bool {
	state := s.Effects[target].State
	switch order {
	case orderReplay, orderReplayNewKeys:
		outcome := s.Events[target].Outcome
		return outcome == dispatched || outcome == failedToDispatch
	case orderRetry:
		return state == failed || state == parked || state == cancelled
	case orderCancel:
		return state != missing && state != done && state != cancelled
	case orderPark:
		return state.unfinished()
	case orderPause:
		return !s.Destination.Paused
	case orderResume:
		return s.Destination.Paused
	case noOrder:
	}
	return false
}

// ordering adds one operator action, together with its row in the operator log.
func (m *machine) ordering(s *State, order Order, target uint8) {
	given := *s
	repeated := s.Operator.Order != noOrder
	if !repeated {
		if !given.pays(order) {
			return
		}
		given.Operator = Operator{Order: order, Target: target}
		if order == orderReplay || order == orderReplayNewKeys {
			given.Events[target].Ordered++
		}
	}
	does := orders[order].does
	if repeated {
		does += ", again with the same request id"
	}
	m.transactionOr(&given, actorOperator, byPerson, orders[order].transaction, does, func(n *State) {
		if n.Operator.Logged && m.bug != bugs.SafeToRetryBelieved || !m.isPossible(n, order, int(target)) {
			return
		}
		n.Operator.Logged = true
		m.carryOut(n, order, int(target))
	}, func(n *State) { n.Operator = Operator{} }, func(*State) {})
}

func (s *State) pays(order Order) bool {
	switch order {
	case orderReplay, orderReplayNewKeys:
		return spend(&s.Left.Replays)
	case orderRetry, orderCancel, orderPark:
		return spend(&s.Left.Orders)
	case orderPause:
		return spend(&s.Left.Pauses)
	case noOrder, orderResume:
	}
	return true
}

func (m *machine) carryOut(n *State, order Order, target int) {
	switch order {
	case orderReplay, orderReplayNewKeys:
		m.replay(n, target, order == orderReplayNewKeys)
	case orderRetry:
		m.reopen(n, target)
	case orderCancel:
		m.putAside(n, target, cancelledByPerson, cancelled)
	case orderPark:
		m.putAside(n, target, parkedByPerson, parked)
	case orderPause:
		n.Destination.Paused = true
	case orderResume:
		n.Destination.Paused = false
	case noOrder:
	}
}

// replay opens an event for one more dispatch under a new generation, and records the replay.
// Without new keys, the event keeps its effects, and the failed, parked and cancelled ones are
// reopened.
func (m *machine) replay(n *State, e int, newKeys bool) {
	row := &n.Events[e]
	row.Outcome, row.Dispatched = received, 0
	row.Generation++
	if m.bug != bugs.ReplayUnrecorded {
		row.Replays++
	}
	n.Jobs[dispatchJob(e)].insert()
	if newKeys {
		row.EffectGeneration = row.Generation
		return
	}
	for f := range effects {
		if m.eventOfEffect(f) == e && m.isPossible(n, orderRetry, f) {
			m.reopen(n, f)
		}
	}
}
