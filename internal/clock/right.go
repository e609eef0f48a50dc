//go:build !failpoint

package clock

import "time"

// Skew returns the clock's deliberate error: none in this build.
func Skew() time.Duration { return 0 }
