//go:build !failpoint

package clock

import "time"

// Skew is the deliberate error of the clock: none in this build.
func Skew() time.Duration { return 0 }
