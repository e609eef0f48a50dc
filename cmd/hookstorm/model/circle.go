package model

import "slices"

// edges holds the steps from each state, without the faults, ordered by the number of the state.
type edges struct {
	to   []uint32
	ends []int  // the steps of state i end before to[ends[i]]
	n    uint32 // number of states
}

func (e *edges) add(to uint32) { e.to = append(e.to, to) }

// close completes the list of one state's steps.
func (e *edges) close() {
	e.ends = append(e.ends, len(e.to))
	e.n++
}

func (e *edges) of(from uint32) []uint32 {
	begin := 0
	if from > 0 {
		begin = e.ends[from-1]
	}
	return e.to[begin:e.ends[from]]
}

// circle looks for steps that lead back to their start without any fault (I5). It returns the
// states on the way, with the start at both ends, or nil if there is no circle. If, in addition, no
// state is stuck with work left, every path without further faults reaches an end. This holds from
// every state, even if the state's budget still allows faults.
func (e *edges) circle() []uint32 {
	const (
		unseen = iota
		onPath
		left
	)
	seen := make([]uint8, e.n)
	// path is the path from the first state, and tried is the number of steps tried from each of
	// its states.
	var path []uint32
	var tried []int
	for first := range e.n {
		if seen[first] != unseen {
			continue
		}
		path, tried = append(path, first), append(tried, 0)
		seen[first] = onPath
		for len(path) > 0 {
			last := len(path) - 1
			steps := e.of(path[last])
			if tried[last] == len(steps) {
				seen[path[last]] = left
				path, tried = path[:last], tried[:last]
				continue
			}
			next := steps[tried[last]]
			tried[last]++
			switch seen[next] {
			case unseen:
				seen[next] = onPath
				path, tried = append(path, next), append(tried, 0)
			case onPath:
				return append(path[slices.Index(path, next):], next)
			}
		}
	}
	return nil
}
