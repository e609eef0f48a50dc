//go:build !failpoint

package failpoint

// Enabled says that this binary has failpoints.
const Enabled = false

// Hit passes the place of that name. It returns an error if that was asked for.
func Hit(string) error { return nil }

// HitIn passes a place of the transaction of that name.
func HitIn[T ~string](T, Moment) error { return nil }
