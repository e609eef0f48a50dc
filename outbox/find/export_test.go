package find

import (
	"context"
	"time"
)

// MatchTime returns how long an answer that reads bodies may take.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns the turns of the searches of a Brief Finder.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is how long they rest.
const RestFactor = restFactor
