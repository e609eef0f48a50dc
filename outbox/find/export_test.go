package find

import (
	"context"
	"time"
)

// MatchTime returns the time budget of a page that reads bodies.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns the take method of new turns, which the searches of a Brief Finder use.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is the pause of a Brief Finder's search, as a multiple of its working time.
const RestFactor = restFactor
