package destination

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter parses a Retry-After header (RFC 9110, section 10.2.3): seconds, or an HTTP date. A
// date is compared with the response's own Date header, if there is one, so that the receiver's
// clock and ours need not agree. The result is 0 for an invalid or past time, and at most 24 h.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if isDigits(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxWait/time.Second) {
			return maxWait // ParseInt fails only for a number that is too large for 64 bits
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return min(max(at.Sub(now), 0), maxWait)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
