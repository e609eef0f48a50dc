//go:build !failpoint

package failpoint

// Enabled reports whether this binary has failpoints.
const Enabled = false

// Hit passes the place of that name. It does nothing in this build.
func Hit(string) error { return nil }

// HitIn passes a place of the transaction of that name. It does nothing in this build.
func HitIn[T ~string](T, Moment) error { return nil }
