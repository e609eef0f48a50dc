package clock

import (
	"fmt"
	"time"
)

// Roughly formats a duration for readers, rounded down, such as 3 days, 2 h 5 min or 40 s. A
// negative duration counts as 0 s.
func Roughly(d time.Duration) string {
	switch d = max(d, 0); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
