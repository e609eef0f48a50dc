package provider

import (
	"strconv"
)

const (
	maxRetryText   = 64
	maxRetryNumber = 1_000_000 // more is not a count
)

// retrySigns declares where a sender says that it tries again. Fields that are
// not there count as nothing.
type retrySigns struct {
	number field // a whole number
	first  int   // the number of the first attempt
	reason field
	again  field // true for what was sent before
	token  field
}

func (s retrySigns) of(r *Request) RetryInfo {
	d := &document{r: r}
	info := RetryInfo{Reason: printable(s.reason.optional(d)), Token: printable(s.token.optional(d))}
	if n, err := strconv.Atoi(s.number.optional(d)); err == nil && n <= maxRetryNumber {
		info.Number = max(0, n-s.first)
	}
	info.Redelivery = info.Number > 0 || s.again.holds(d)
	return info
}

// printable leaves of a text what is safe to log: nothing of one that is too
// long or not printable ASCII.
func printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	if len(s) > maxRetryText {
		return ""
	}
	return s
}
