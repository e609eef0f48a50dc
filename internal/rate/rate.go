// Package rate reads and writes rates, such as 20/s.
package rate

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// PerSecond is the maximum number of attempts or requests that may start per second; 0 is no limit.
// It is written like 50/s, 10/m or 1000/h.
type PerSecond float64

// rateUnits lists the time units of a rate, in seconds.
var rateUnits = []struct {
	name    string
	seconds float64
}{{"s", 1}, {"m", 60}, {"h", 3600}}

var errRate = errors.New("is not a rate; allowed: a whole number from 1, a slash and s, m or h, like 50/s")

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *PerSecond) UnmarshalText(text []byte) error {
	count, unit, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil || n < 1 {
		return errRate
	}
	for _, u := range rateUnits {
		if strings.TrimSpace(unit) == u.name {
			*r = PerSecond(float64(n) / u.seconds)
			return nil
		}
	}
	return errRate
}

// String returns the rate with the shortest unit in which it is a whole number, or "" for no limit.
func (r PerSecond) String() string {
	if r <= 0 {
		return ""
	}
	for _, u := range rateUnits {
		n := float64(r) * u.seconds
		if whole := math.Round(n); whole >= 1 && math.Abs(n-whole) < 1e-9*n {
			return strconv.FormatFloat(whole, 'f', -1, 64) + "/" + u.name
		}
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s"
}

// MarshalText implements encoding.TextMarshaler.
func (r PerSecond) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
