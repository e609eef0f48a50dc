package config

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var errDuration = errors.New("is not a duration; allowed: a number with ms, s, m or h, or whole days with d, like 30s, 1h30m or 90d")

// parseDuration accepts the format of time.ParseDuration, optionally preceded by a number of whole
// days: 90d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	var days time.Duration
	if number, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, errDuration
		}
		days, text = time.Duration(n)*day, rest
		if text == "" {
			return days, nil
		}
		if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
			return 0, errDuration
		}
	}
	rest, err := time.ParseDuration(text)
	if err != nil || days+rest < rest {
		return 0, errDuration
	}
	return days + rest, nil
}

// FormatDuration formats a duration in a short form: 90d, 36h, 1h30m.
func FormatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
