package planted

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

// Case is a bug and the schedule that finds it.
type Case struct {
	Bug bugs.Bug
	// Rules are those of the checker that must find it: one of them is enough.
	Rules []checker.Rule
	// Schedule is what is done, in words.
	Schedule string

	run      func(ctx context.Context, s *scene) error
	settings map[string]string // of a server of its own; nil: the one that all share
}
