// Package clock tells the time by this process's own clock, wherever that time meets one
// of another machine: in what a sender has signed, in what the database says, in what we
// sign.
//
// In a binary built with -tags failpoint, HOOKLATCH_CLOCK sets that clock wrong:
// +1h, or -90s. Durations within the process are measured by package time.
package clock

import "time"

// Now is the time by this process's clock.
func Now() time.Time {
	if skew := Skew(); skew != 0 {
		return time.Now().Add(skew)
	}
	return time.Now()
}

// Until is how long it is until t by this process's clock.
func Until(t time.Time) time.Duration {
	if skew := Skew(); skew != 0 {
		return time.Until(t) - skew
	}
	return time.Until(t)
}

// Since is how long it is since t by this process's clock.
func Since(t time.Time) time.Duration {
	if skew := Skew(); skew != 0 {
		return time.Since(t) + skew
	}
	return time.Since(t)
}
