package worker

import (
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river/rivertype"
)

const (
	firstBackoff = time.Second
	// maxDispatchBackoff is the longest wait between two attempts of a dispatch, without jitter.
	// The 25 attempts then take about 14 hours: time for an operator to repair a handler or a
	// route.
	maxDispatchBackoff = time.Hour
	// maxEffectBackoff is the longest wait, without jitter, after a run that got no response from
	// the ledger. Attempts follow their destination's schedule.
	maxEffectBackoff = 30 * time.Second
	// backoffJitter spreads the next runs of jobs that failed together.
	backoffJitter = 0.2
)

// rescueError is the error text that River's rescuer stores for a run that it assumed dead.
const rescueError = "Stuck job rescued by JobRescuer"

// failures returns the number of failed runs, including this one. A rescue is not a failure: the
// process died, but the work did not fail.
func failures(job *rivertype.JobRow) int {
	n := 1
	for _, e := range job.Errors {
		if e.Error != rescueError {
			n++
		}
	}
	return n
}

// backoff returns a wait that doubles from one second with each failure, up to longest, plus
// jitter.
func backoff(failures int, longest time.Duration) time.Duration {
	wait := firstBackoff
	for i := 1; i < failures && wait < longest; i++ {
		wait *= 2
	}
	wait = min(wait, longest)
	return wait + time.Duration(rand.Float64()*backoffJitter*float64(wait)) //nolint:gosec // no secret depends on it
}
