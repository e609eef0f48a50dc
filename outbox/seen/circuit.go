package seen

import (
	"log/slog"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// The variable tests defines the pauses between tests of a Redis that did not respond in time.
var tests = retry.Pauses{First: 5 * time.Millisecond, Max: time.Second, Spread: true}

// lasting is the time without a response after which the failure is logged. Shorter outages are
// frequent on a busy machine.
const lasting = time.Second

// heal tests Redis until it responds in time, and closes the circuit. It returns false, and
// deregisters the goroutine, if Stop was called.
func (m *Memory) heal() bool {
	began, logged := time.Now(), false
	for range tests.Until(m.life) {
		took, err := m.server.test(m.life)
		away := time.Since(began)
		switch {
		case m.life.Err() != nil:
		case err == nil && took <= Patience:
			if logged {
				m.logger.Info("seen cache responds again", slog.Float64(logkey.Duration, away.Seconds()))
			}
			m.mu.Lock()
			m.open = false
			m.mu.Unlock()
			return true
		case !logged && away >= lasting:
			logged = true
			m.logger.Warn("seen cache does not respond in time; duplicates are looked up in the database",
				slog.Float64(logkey.Duration, took.Seconds()), slog.Any(logkey.Err, err))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.working = false
	return false
}
