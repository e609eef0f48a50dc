package signin

import "time"

// Questions are those that a provider may be asked.
type Questions struct{ of *questions }

// NewQuestions returns them as they are at the beginning.
func NewQuestions(now func() time.Time) Questions { return Questions{newQuestions(now)} }

// Allow takes note of a question.
func (q Questions) Allow(remote string) bool { return q.of.allow(remote) }

// Proven takes note of an address.
func (q Questions) Proven(remote string) { q.of.proven(remote) }
