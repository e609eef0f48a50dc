// Package column converts Go values to columns, and NULL to Go values. Values that Postgres would
// refuse are replaced or refused here, before they are batched with other callers' values.
package column

import "time"

// OrZero returns the zero value for NULL.
func OrZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

// TimeOrNull returns NULL for the zero time.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// NumberOrNull returns NULL for 0.
func NumberOrNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// KnownTime returns t in UTC, or nil for a meaningless time: zero, or outside the years 1 to 9999.
// Postgres refuses some of these times, and every delivery of the event would then fail. Postgres
// stores others as a different time.
func KnownTime(t time.Time) *time.Time {
	if t = t.UTC(); t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return nil
	}
	return &t
}

const defaultLimit = 50

// Limit returns limit, the maximum number of rows in a list, or 50 if limit is not positive.
func Limit(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return limit
}
