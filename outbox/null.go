package outbox

import "time"

// orZero is the zero value for NULL.
func orZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

// timeOrNull is NULL for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// knownTime is nil for a time that says nothing: zero, or one that RFC 3339 cannot
// write. Postgres refuses some of those, and every delivery of the event with
// them, and stores others as something else.
func knownTime(t time.Time) *time.Time {
	if t = t.UTC(); t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return nil
	}
	return &t
}

const defaultLimit = 50

func limitOr(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return limit
}
