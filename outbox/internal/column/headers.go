package column

import (
	"encoding/json"

	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// Headers makes JSON that Postgres takes: its jsonb refuses NUL and
// invalid UTF-8, which a header may carry.
func Headers(headers map[string][]string) ([]byte, error) {
	safe := make(map[string][]string, len(headers))
	for name, values := range headers {
		clean := make([]string, len(values))
		for i, value := range values {
			clean[i] = safetext.Storable(value)
		}
		safe[safetext.Storable(name)] = clean
	}
	return json.Marshal(safe)
}
