package proof

import (
	"strconv"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

const (
	maxRetryText   = 64
	maxRetryNumber = 1_000_000 // a larger number is not a count
)

// RetrySigns declares the fields in which a sender reports its retries. Missing fields count
// as empty.
type RetrySigns struct {
	Number Field // a whole number
	First  int   // the first attempt's number
	Reason Field
	Again  Field // true for a redelivery
	Token  Field
}

// Of returns a request's retry information, without values that are not safe to log.
func (s RetrySigns) Of(r *provider.Request) provider.RetryInfo {
	d := &Document{R: r}
	info := provider.RetryInfo{Reason: loggable(s.Reason.Optional(d)), Token: loggable(s.Token.Optional(d))}
	if n, err := strconv.Atoi(s.Number.Optional(d)); err == nil && n <= maxRetryNumber {
		info.Number = max(0, n-s.First)
	}
	info.Redelivery = info.Number > 0 || s.Again.Holds(d)
	return info
}

// loggable returns s if it is safe to log, or "" if it is too long or not printable ASCII.
func loggable(s string) string {
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
