package destination

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is how often something may start, written like 50/s, 10/m or 1000/h.
// The zero Rate is no limit.
type Rate struct {
	Count int
	Per   time.Duration // a second, a minute or an hour
}

var errRate = errors.New("is not a rate; allowed: a whole number from 1, a slash and s, m or h, like 50/s")

// IsZero tells whether there is no limit.
func (r Rate) IsZero() bool { return r.Count == 0 }

// PerSecond is the rate as a number of starts in a second; 0 is no limit.
func (r Rate) PerSecond() float64 {
	if r.IsZero() {
		return 0
	}
	return float64(r.Count) / r.Per.Seconds()
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) error {
	count, unit, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil || n < 1 {
		return errRate
	}
	switch strings.TrimSpace(unit) {
	case "s":
		*r = Rate{Count: n, Per: time.Second}
	case "m":
		*r = Rate{Count: n, Per: time.Minute}
	case "h":
		*r = Rate{Count: n, Per: time.Hour}
	default:
		return errRate
	}
	return nil
}

func (r Rate) String() string {
	switch {
	case r.IsZero():
		return ""
	case r.Per == time.Hour:
		return fmt.Sprintf("%d/h", r.Count)
	case r.Per == time.Minute:
		return fmt.Sprintf("%d/m", r.Count)
	default:
		return fmt.Sprintf("%d/s", r.Count)
	}
}

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
