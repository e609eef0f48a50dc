package model

import (
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
)

// Actor is the participant that takes a step, including time and Postgres.
type Actor int

// The actors. Each send has a gateway of its own.
const (
	actorGateway1 Actor = iota
	actorGateway2
	actorWorker1
	actorWorker2
	actorOperator
	actorUpkeep
	actorRiver
	actorTime
	actorPostgres
)

var actors = [...]string{"gateway 1", "gateway 2", "worker 1", "worker 2", "operator", "upkeep", "River", "time", "Postgres"}

// String returns the actor's name in a trace.
func (a Actor) String() string { return actors[a] }

func gatewayOf(send int) Actor  { return actorGateway1 + Actor(send) }
func workerOf(worker int) Actor { return actorWorker1 + Actor(worker) }

// Step leads from one state to the next.
type Step struct {
	Actor Actor
	// Passes lists the failpoints that the step passes, in order, separated by spaces. A step with
	// a transaction lists the transaction instead, and Failpoints returns its failpoints.
	Passes string
	Commit Commit
	Does   string
	Cost   Cost
}

// Commit is the outcome of a step's transaction.
type Commit uint8

// The outcomes of a transaction.
const (
	noTransaction  Commit = iota
	answered              // committed, and the process gets the response
	answerLost            // committed, but the process gets no response
	connectionLost        // rolled back, but the process gets no response
)

// Cost is the part of the budget that a step uses.
type Cost uint8

// A free step happens automatically, sooner or later. The other steps may never happen: an operator
// may do nothing, and faults may be absent.
const (
	free Cost = iota
	byFault
	byCrash
	byPerson
)

// isFault reports whether a step of this cost is a fault or a crash. I5 promises an end only for
// paths without further faults and crashes.
func (c Cost) isFault() bool { return c == byFault || c == byCrash }

// Failpoints returns the names of the failpoints that the step passes.
func (s Step) Failpoints() []string {
	places := strings.Fields(s.Passes)
	if s.Commit == noTransaction {
		return places
	}
	var named []string
	for _, transaction := range places {
		named = append(named, transaction+".begin", transaction+".before_commit")
		if s.Commit != connectionLost {
			named = append(named, transaction+".after_commit")
		}
	}
	return named
}

// String formats the step as a line of a trace.
func (s Step) String() string {
	var line strings.Builder
	line.WriteString(s.Actor.String())
	line.WriteString(strings.Repeat(" ", max(1, 11-line.Len())))
	switch s.Cost {
	case byFault:
		line.WriteString("FAULT: ")
	case byCrash:
		line.WriteString("CRASH: ")
	case free, byPerson:
	}
	line.WriteString(s.Does)
	switch s.Commit {
	case answerLost:
		line.WriteString("; committed, but the response to COMMIT is lost")
	case connectionLost:
		line.WriteString("; the connection is lost before COMMIT")
	case noTransaction, answered:
	}
	if names := s.Failpoints(); len(names) > 0 {
		line.WriteString("   [" + strings.Join(names, ", ") + "]")
	}
	return line.String()
}

// machine produces the possible steps in a world.
type machine struct {
	World

	bug   bugs.Bug
	next  []successor // successors of the state being expanded
	moved map[Transition]bool
}

// successor is a step with the state that it leads to.
type successor struct {
	Step

	state State
}

// step adds a step without a transaction, if the budget allows it.
func (m *machine) step(s *State, actor Actor, cost Cost, passes, does string, change func(*State)) {
	next := *s
	if !next.pay(cost) {
		return
	}
	change(&next)
	m.next = append(m.next, successor{Step{Actor: actor, Passes: passes, Does: does, Cost: cost}, next})
}

// transaction adds the ways in which a transaction can end. A process that gets no response repeats
// the transaction, so the function run must recognise the rows of an earlier try. The function
// heard is the process's reaction to the response.
func (m *machine) transaction(s *State, actor Actor, name, does string, run, heard func(*State)) {
	m.transactionOr(s, actor, free, name, does, run, heard, func(*State) {})
}

// transactionOr is like transaction, but has a cost. The function unheard is the process's reaction
// if it gets no response.
func (m *machine) transactionOr(s *State, actor Actor, cost Cost, name, does string, run, heard, unheard func(*State)) {
	next := *s
	if !next.pay(cost) {
		return
	}
	run(&next)
	unanswered := next
	heard(&next)
	m.next = append(m.next, successor{Step{Actor: actor, Passes: name, Commit: answered, Does: does, Cost: cost}, next})
	if unanswered.pay(byFault) {
		unheard(&unanswered)
		m.next = append(m.next, successor{Step{Actor: actor, Passes: name, Commit: answerLost, Does: does, Cost: byFault}, unanswered})
	}
	lost := *s
	if lost.pay(cost) && lost.pay(byFault) {
		unheard(&lost)
		m.next = append(m.next, successor{Step{Actor: actor, Passes: name, Commit: connectionLost, Does: does, Cost: byFault}, lost})
	}
}

// pay takes the step's cost from the budget and reports whether enough was left. An operator's
// step is free here: the methods ordering and reloading pay for it.
func (s *State) pay(cost Cost) bool {
	switch cost {
	case byFault:
		return spend(&s.Left.Faults)
	case byCrash:
		return spend(&s.Left.Crashes)
	case free, byPerson:
	}
	return true
}

func spend(budget *uint8) bool {
	if *budget == 0 {
		return false
	}
	*budget--
	return true
}
