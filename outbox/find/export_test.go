package find

import (
	"context"
	"time"
)

// MatchTime returns the maximum time of a page that reads bodies.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns the turns of a Brief Finder's searches.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is the rest of a Brief Finder's search, as a multiple of the time it worked.
const RestFactor = restFactor
