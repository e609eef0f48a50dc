// Package clock returns the time of this process's own clock, for comparison with another
// machine's time: in signed texts, in database results, in our own signatures.
//
// In a binary built with -tags failpoint, HOOKLATCH_CLOCK sets that clock wrong: +1h, or -90s.
// Durations within the process are measured by package time.
package clock

import "time"

// Now returns the time by this process's clock.
func Now() time.Time {
	if skew := Skew(); skew != 0 {
		return time.Now().Add(skew)
	}
	return time.Now()
}

// Until returns the duration until t by this process's clock.
func Until(t time.Time) time.Duration {
	if skew := Skew(); skew != 0 {
		return time.Until(t) - skew
	}
	return time.Until(t)
}

// Since returns the duration since t by this process's clock.
func Since(t time.Time) time.Duration {
	if skew := Skew(); skew != 0 {
		return time.Since(t) + skew
	}
	return time.Since(t)
}
