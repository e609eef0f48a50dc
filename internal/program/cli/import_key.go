package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// clockSkew is the maximum time that another system's clock may be ahead.
const clockSkew = 5 * time.Minute

// keyOf parses one line of a key file.
func keyOf(record []string, now time.Time) (inbox.ImportedKey, error) {
	at, err := receivedAt(record[1])
	if err != nil {
		return inbox.ImportedKey{}, err
	}
	if at.After(now.Add(clockSkew)) {
		return inbox.ImportedKey{}, fmt.Errorf("received_at %q is in the future", record[1])
	}
	key := inbox.ImportedKey{EventID: identity.EventID(strings.Clone(record[0])), ReceivedAt: at}
	return key, key.Validate()
}

// receivedAt parses a time in the usual formats of databases and logs, or in seconds since 1970.
func receivedAt(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e11 {
		return time.UnixMicro(int64(seconds * 1e6)).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("received_at %q is not a time: allowed are times such as 2026-11-21T08:00:00Z, and seconds since 1970", text)
}
