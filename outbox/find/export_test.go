package find

import (
	"context"
	"time"
)

// MatchTime is how long an answer that reads bodies may take.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns how the searches of a Brief Finder take turns.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is how long they rest.
const RestFactor = restFactor
