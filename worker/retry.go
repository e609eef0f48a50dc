package worker

import (
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river/rivertype"
)

const (
	firstBackoff = time.Second
	// maxDispatchBackoff spreads the 25 attempts of a dispatch over about 14
	// hours: time for a person to repair a handler or a route.
	maxDispatchBackoff = time.Hour
	// maxEffectBackoff is for runs that got no answer from the ledger. Attempts
	// have their destination's schedule.
	maxEffectBackoff = 30 * time.Second
	// backoffJitter keeps jobs that failed together from coming back together.
	backoffJitter = 0.2
)

// rescueError is the text River's rescuer leaves as the error of a run it took
// for dead.
const rescueError = "Stuck job rescued by JobRescuer"

// failures counts the runs that failed, this one included. A rescue is not a
// failure: the process died, not the work.
func failures(job *rivertype.JobRow) int {
	n := 1
	for _, e := range job.Errors {
		if e.Error != rescueError {
			n++
		}
	}
	return n
}

// backoff doubles from one second with each failure, up to longest.
func backoff(failures int, longest time.Duration) time.Duration {
	wait := firstBackoff
	for i := 1; i < failures && wait < longest; i++ {
		wait *= 2
	}
	wait = min(wait, longest)
	return wait + time.Duration(rand.Float64()*backoffJitter*float64(wait)) //nolint:gosec // no secret depends on it
}
