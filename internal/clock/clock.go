// Package clock returns the time of this process's own clock. It is for times that are compared
// with the times of another machine's clock: in the signatures of senders and of Hooklatch, and in
// database results.
//
// In a binary built with -tags failpoint, HOOKLATCH_CLOCK shifts that clock, for example by +1h or
// -90s. Durations within the process are measured with package time.
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
