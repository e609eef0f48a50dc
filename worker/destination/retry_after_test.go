package destination

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"120":                              2 * time.Minute,
		" 7 ":                              7 * time.Second,
		"-5":                               0,
		"1.5":                              0,
		"soon":                             0,
		"99999999999":                      24 * time.Hour,
		"99999999999999999999999999":       24 * time.Hour,
		"Thu, 01 Oct 2026 08:01:30 GMT":    90 * time.Second,
		"Thu, 01 Oct 2026 07:00:00 GMT":    0,
		"Thu, 01 Oct 2099 07:00:00 GMT":    24 * time.Hour,
		"Thursday, 01-Oct-26 08:00:10 GMT": 10 * time.Second,
	} {
		require.Equal(t, want, retryAfter(http.Header{"Retry-After": {value}}, now), "%q", value)
	}
}

func TestRetryAfterDateCountsFromTheReceiversClock(t *testing.T) {
	t.Parallel()
	header := http.Header{
		"Date":        {"Thu, 01 Oct 2026 09:00:00 GMT"},
		"Retry-After": {"Thu, 01 Oct 2026 09:00:30 GMT"},
	}
	ours := time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)
	require.Equal(t, 30*time.Second, retryAfter(header, ours))
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Thu, 01 Oct 2026 08:01:30 GMT", "Thu, 01 Oct 2026 08:00:00 GMT")
	f.Add("99999999999999999999", "x")
	f.Fuzz(func(t *testing.T, value, date string) {
		wait := retryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, time.Unix(1_800_000_000, 0))
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.LessOrEqual(t, wait, maxWait)
	})
}
