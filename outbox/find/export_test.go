package find

import (
	"context"
	"time"
)

// MatchTime returns the maximum time of a page that reads bodies.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns the method take of new turns, as a Brief Finder's searches use them.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is how long a Brief Finder's search pauses, as a multiple of the time it worked.
const RestFactor = restFactor
