//go:build failpoint

package clock

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const skewVariable = "HOOKLATCH_CLOCK"

// Skew returns how far the clock is deliberately ahead. The result is negative for a clock that is
// behind.
func Skew() time.Duration { return skewOfProcess() }

// skewOfProcess reads the environment once. If the value is invalid, the process exits. Otherwise a
// test that needs a wrong clock would pass with a correct one.
var skewOfProcess = sync.OnceValue(func() time.Duration {
	text := os.Getenv(skewVariable)
	if text == "" {
		return 0
	}
	skew, err := time.ParseDuration(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "clock: %s: %v\n", skewVariable, err)
		os.Exit(2)
	}
	return skew
})
