package browse

import "time"

// MatchTime is how long an answer that reads bodies may take.
func MatchTime() time.Duration { return matchBudget.time }
