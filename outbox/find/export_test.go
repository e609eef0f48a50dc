package find

import (
	"context"
	"time"
)

// MatchTime returns the maximum time of a page that reads bodies.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns the take method of new turns, which the searches of a Brief Finder use.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is how long a Brief Finder's search pauses, as a multiple of the time it worked.
const RestFactor = restFactor
