// Package column converts Go values to columns, and NULL to Go values. Values that
// Postgres would refuse are replaced or refused here, before they are batched with the
// values of others.
package column

import "time"

// OrZero is the zero value for NULL.
func OrZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

// TimeOrNull is NULL for the zero time.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// NumberOrNull is NULL for 0.
func NumberOrNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// KnownTime is nil for a time that says nothing: zero, or one that RFC 3339 cannot
// write. Postgres refuses some of those, and every delivery of the event with
// them, and stores others as something else.
func KnownTime(t time.Time) *time.Time {
	if t = t.UTC(); t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return nil
	}
	return &t
}

const defaultLimit = 50

// Limit is how many rows a list has where its caller does not say.
func Limit(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return limit
}
