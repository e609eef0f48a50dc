package find

import (
	"context"
	"time"
)

// MatchTime returns the maximum time of a page that reads bodies.
func MatchTime() time.Duration { return matchBudget.time }

// NewTurns returns the turns of a Brief Finder's searches.
func NewTurns() (take func(context.Context) (end func(), err error)) { return newTurns().take }

// RestFactor is the factor of their rest.
const RestFactor = restFactor
