package planted

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

// Case is a bug and the schedule that reveals it.
type Case struct {
	Bug bugs.Bug
	// Rules are the checker's rules for the bug. At least one of them must report it.
	Rules []checker.Rule
	// Schedule describes the schedule in words.
	Schedule string

	// Redis is true if the schedule needs redis-server.
	Redis bool

	run      func(ctx context.Context, s *scene) error
	settings map[string]string // settings of a separate server; nil for the shared server
}
