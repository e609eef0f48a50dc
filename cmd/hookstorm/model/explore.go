package model

import (
	"context"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
)

// Options select what Explore visits.
type Options struct {
	Bug    bugs.Bug // the bug that the worlds contain; empty for none
	Worlds []World  // defaults to Worlds; with a bug, to the world that shows it
	// Done, if not nil, is called with each world that was explored completely.
	Done func(Explored)
}

// Result describes the worlds that Explore visited, and the first violation.
type Result struct {
	Worlds      []Explored
	States      int                 // in all worlds
	Transitions map[Transition]bool // transitions of effects
	Failpoints  map[string]bool     // failpoints that steps passed
	Violation   *Violation          // nil if no promise can be broken
}

// Explored counts the states of a world, and its steps without the faults.
type Explored struct {
	World  World
	States int
	Steps  int
	Ends   int // states in which no work is left
	Depth  int // steps from the first state to the farthest one
	Took   time.Duration
}

// Violation is a way in which a world breaks a promise.
type Violation struct {
	World     World
	Invariant Invariant
	Trace     []Step // one of the shortest traces to the violation, or to Circle
	Circle    []Step // I5: the steps after the trace that can repeat forever
}

// Explore visits every state of every world, and stops at the first violation. It returns an error
// if ctx ends or if the model does not cover the bug.
func Explore(ctx context.Context, opts Options) (Result, error) {
	if err := check(opts.Bug); err != nil {
		return Result{}, err
	}
	if opts.Worlds == nil {
		opts.Worlds = worldOf(opts.Bug, Worlds())
	}
	result := Result{Transitions: map[Transition]bool{}, Failpoints: map[string]bool{}}
	for _, w := range opts.Worlds {
		e := exploration{machine: machine{World: w, bug: opts.Bug, moved: result.Transitions}, failpoints: result.Failpoints}
		began := time.Now()
		violation, err := e.run(ctx)
		if err != nil {
			return result, err
		}
		result.States += int(e.states.n)
		if violation != nil {
			result.Violation = violation
			return result, nil
		}
		explored := Explored{World: w, States: int(e.states.n), Steps: len(e.edges.to), Ends: e.ends, Depth: e.depth, Took: time.Since(began)}
		result.Worlds = append(result.Worlds, explored)
		if opts.Done != nil {
			opts.Done(explored)
		}
	}
	return result, nil
}

// exploration is a breadth-first search of one world. States are numbered in the order of
// their discovery.
type exploration struct {
	machine

	states  stateSet
	parents []uint32 // for each state, the state from which it was first reached
	edges   edges    // the steps, except for faults
	ends    int
	depth   int

	failpoints map[string]bool
	passed     map[string]bool // values of Step.Passes whose failpoints are already in failpoints
}

// first returns the state in which nothing has happened yet.
func (e *exploration) first() State { return State{Left: e.Budget, Routes: 1} }

// everySteps is the number of states between two checks of the context.
const everySteps = 1 << 14

func (e *exploration) run(ctx context.Context) (*Violation, error) {
	first := e.first()
	e.states.add(&first)
	e.parents = append(e.parents, 0)
	// last is the first state that is one step farther than the states being expanded.
	last := uint32(1)
	for at := uint32(0); at < e.states.n; at++ { //nolint:intrange // every iteration may add states
		if at%everySteps == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if at == last {
			last = e.states.n
			e.depth++
		}
		if violation := e.expand(at); violation != nil {
			return violation, nil
		}
	}
	if path := e.edges.circle(); path != nil {
		return e.goesOnForEver(path), nil
	}
	return nil, nil
}

// expand adds the states that follow from a state. It returns the violation that it finds, or nil.
func (e *exploration) expand(at uint32) *Violation {
	s := e.states.at(at)
	e.successors(&s)
	moves := false
	for i := range e.next {
		next := &e.next[i]
		if next.state == s {
			continue // the step changed nothing
		}
		e.pass(next.Step)
		e.canonical(&next.state)
		id, isNew := e.states.add(&next.state)
		if isNew {
			e.parents = append(e.parents, at)
			if broken := e.broken(&next.state); broken != Intact {
				return &Violation{World: e.World, Invariant: broken, Trace: e.trace(id)}
			}
		}
		if !next.Cost.isFault() {
			e.edges.add(id)
		}
		moves = moves || next.Cost == free
	}
	e.edges.close()
	switch {
	case e.isEnd(&s):
		e.ends++
	case !moves:
		return &Violation{World: e.World, Invariant: I5, Trace: e.trace(at)}
	}
	return nil
}

// successors replaces m.next by every possible step from s.
func (m *machine) successors(s *State) {
	m.next = m.next[:0]
	for i := range sends {
		m.gateway(s, i)
	}
	for w := range workers {
		if isDispatch(s.Workers[w].Job) {
			m.dispatching(s, w)
		} else {
			m.attempting(s, w)
		}
	}
	m.operating(s)
	m.river(s)
	m.passing(s)
	m.reconciling(s)
	m.reloading(s)
	m.crashing(s)
}

// trace returns the steps that first led to a state.
func (e *exploration) trace(id uint32) []Step {
	steps, _ := e.walk(e.first(), e.wayTo(id))
	return steps
}

// wayTo returns the states on the way to a state, without the first state.
func (e *exploration) wayTo(id uint32) []uint32 {
	var way []uint32
	for ; id != 0; id = e.parents[id] {
		way = append(way, id)
	}
	slices.Reverse(way)
	return way
}

// goesOnForEver returns the violation of I5 by a path that ends where it begins.
func (e *exploration) goesOnForEver(path []uint32) *Violation {
	trace, s := e.walk(e.first(), e.wayTo(path[0]))
	circle, _ := e.walk(s, path[1:])
	return &Violation{World: e.World, Invariant: I5, Trace: trace, Circle: circle}
}

// walk returns the steps from a state along a way, and the state at its end. The steps use the
// worker names of this path, which may differ from those in the stored states.
func (e *exploration) walk(s State, way []uint32) ([]Step, State) {
	var steps []Step
	for _, id := range way {
		e.successors(&s)
		for _, next := range e.next {
			twin := next.state
			e.canonical(&twin)
			if next.state != s && twin == e.states.at(id) {
				steps, s = append(steps, next.Step), next.state
				break
			}
		}
	}
	return steps, s
}

func (e *exploration) pass(s Step) {
	if s.Passes == "" {
		return
	}
	if e.passed == nil {
		e.passed = map[string]bool{}
	}
	if s.Commit == connectionLost || e.passed[s.Passes] {
		return
	}
	e.passed[s.Passes] = true
	for _, name := range s.Failpoints() {
		e.failpoints[name] = true
	}
}
