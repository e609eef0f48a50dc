package model

import "github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"

// deploying restarts a worker with a newer configuration. The worker announces this configuration
// before it takes a job. Between the two restarts, the workers have different configurations.
func (m *machine) deploying(s *State, w int) {
	if !m.Deploys || s.Configured[w] > 0 {
		return
	}
	m.step(s, workerOf(w), free, "", "restarts with a newer configuration and announces it", func(n *State) {
		n.Configured[w], n.Newest = 1, 1
	})
}

// isLeft reports whether a worker leaves events to processes with a newer configuration.
func (m *machine) isLeft(s *State, w int) bool {
	return s.Configured[w] < s.Newest && m.bug != bugs.OldProcessDecides
}
