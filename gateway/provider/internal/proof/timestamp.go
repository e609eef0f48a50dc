package proof

import (
	"errors"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// StandardTolerance is the largest difference between the signed time and now that Stripe, Slack,
// Standard Webhooks and most other senders allow.
const StandardTolerance = 300 * time.Second

// Unit is the format in which a sender writes a time.
type Unit string

// Units that an option can name.
const (
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	RFC3339      Unit = "rfc3339"
)

// maxDigits is the maximum number of digits in a decimal time. With more digits, the time in
// milliseconds would overflow.
const maxDigits = 15

var errNotDecimal = errors.New("not a decimal number")

// Parse reads a signed time strictly: RFC 3339, or digits without a sign or a fraction.
func (u Unit) Parse(s string) (time.Time, error) {
	if u == RFC3339 {
		return time.Parse(time.RFC3339Nano, s)
	}
	if s == "" || len(s) > maxDigits {
		return time.Time{}, errNotDecimal
	}
	var n int64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return time.Time{}, errNotDecimal
		}
		n = n*10 + int64(s[i]-'0')
	}
	if u == Milliseconds {
		return time.UnixMilli(n), nil
	}
	return time.Unix(n, 0), nil
}

// Format is the inverse of Parse. Only Milliseconds keeps a fraction of a second.
func (u Unit) Format(t time.Time) string {
	switch u {
	case Milliseconds:
		return strconv.FormatInt(t.UnixMilli(), 10)
	case RFC3339:
		return t.UTC().Format(time.RFC3339)
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// Within refuses a signed time more than tolerance before or after now. A tolerance of 0 or less
// allows any time.
func Within(signedAt, now time.Time, tolerance time.Duration) error {
	if tolerance <= 0 {
		return nil
	}
	age := now.Sub(signedAt)
	switch {
	case age > tolerance:
		return &provider.VerifyError{Reason: provider.ReasonOldTimestamp, Detail: "signed " + age.Round(time.Second).String() + " ago"}
	case age < -tolerance:
		return &provider.VerifyError{Reason: provider.ReasonFutureTimestamp, Detail: "signed " + (-age).Round(time.Second).String() + " ahead"}
	}
	return nil
}

// Day is 24 hours, a unit for long retry windows.
const Day = 24 * time.Hour

// HeaderTime reads an RFC 3339 time in a header. It returns the zero time if the header has no time
// in the years 1970 to 9999.
func HeaderTime(r *provider.Request, f Field) time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.Header.Get(f.Header))
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}
