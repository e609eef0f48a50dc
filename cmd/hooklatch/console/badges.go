package console

import (
	"time"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/status"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// badgesAgain is how old badges may be before they are asked for again, beside the
	// pages that have the same numbers.
	badgesAgain = 10 * time.Second
	// badgesStale is when they are no longer shown.
	badgesStale = time.Minute
)

// badges are what waits for a person, beside the pages where it is. 0: nothing does, or
// it is not known. No page waits for them.
type badges struct {
	Effects, Destinations, Quarantine int64
}

func (c *Console) badges() badges {
	s, known := c.status.Glance(badgesAgain, badgesStale)
	if !known {
		return badges{}
	}
	return badgesOf(s)
}

func badgesOf(s *status.Status) (b badges) {
	for _, d := range s.Destinations {
		for _, state := range []ledger.EffectState{ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectFailed} {
			b.Effects += d.Effects[string(state)]
		}
		if !d.PausedAt.IsZero() || !d.OpenedAt.IsZero() {
			b.Destinations++
		}
	}
	for _, of := range s.Sources {
		b.Quarantine += of.Quarantined
	}
	return b
}
