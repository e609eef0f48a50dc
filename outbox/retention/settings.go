package retention

import (
	"maps"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// The defaults of Settings.
const (
	Day             = 24 * time.Hour
	DefaultDedup    = 90 * Day
	DefaultPayloads = 30 * Day
	DefaultAudit    = 400 * Day
	// BeyondDedup is the additional time for which effects are kept after all events, because their
	// keys must outlive the events.
	BeyondDedup = 30 * Day
)

// Settings are the retention periods. Zero values select the defaults.
type Settings struct {
	// Dedup is the period for which events are remembered, by source.
	Dedup map[identity.Source]time.Duration
	// Other applies to sources that are not in Dedup. Defaults to 90 days.
	Other time.Duration
	// Payloads is the period for which deliveries are kept. Defaults to 30 days, or to Other if
	// that is shorter.
	Payloads time.Duration
	// History is the period for which effects that have ended, and the records about them, are
	// kept. Defaults to 30 days beyond the longest Dedup, and is never shorter than the longest
	// Dedup.
	History time.Duration
	// Audit is the period for which the operator log is kept. Defaults to 400 days.
	Audit time.Duration
}

// WithDefaults returns s with the defaults in place of zero values.
func (s Settings) WithDefaults() Settings {
	s.Dedup = maps.Clone(s.Dedup)
	if s.Other <= 0 {
		s.Other = DefaultDedup
	}
	if s.Payloads <= 0 {
		s.Payloads = min(DefaultPayloads, s.Other)
	}
	if s.Audit <= 0 {
		s.Audit = DefaultAudit
	}
	for source, dedup := range s.Dedup {
		if dedup <= 0 {
			s.Dedup[source] = s.Other
		}
	}
	if s.History <= 0 {
		s.History = s.longestDedup() + BeyondDedup
	}
	return s
}

// longestDedup returns the longest period of the named sources, or Other if no source is named.
func (s Settings) longestDedup() time.Duration {
	if len(s.Dedup) == 0 {
		return s.Other
	}
	return slices.Max(slices.Collect(maps.Values(s.Dedup)))
}

// dedupOf returns the period for which a source's events are remembered.
func (s Settings) dedupOf(source identity.Source) time.Duration {
	if dedup, known := s.Dedup[source]; known {
		return dedup
	}
	return s.Other
}

// longest returns settings that keep everything at least as long as each of the given settings
// does. The longest Other applies to a source that none of them names. Effects outlive every event
// by the longest margin of these settings.
func longest(all ...Settings) Settings {
	var l Settings
	var beyond time.Duration
	l.Dedup = map[identity.Source]time.Duration{}
	for _, s := range all {
		beyond = max(beyond, s.History-s.longestDedup())
		l.Other = max(l.Other, s.Other)
		l.Payloads = max(l.Payloads, s.Payloads)
		l.History = max(l.History, s.History)
		l.Audit = max(l.Audit, s.Audit)
		for source, dedup := range s.Dedup {
			l.Dedup[source] = max(l.Dedup[source], dedup)
		}
	}
	l.History = max(l.History, l.longestDedup()+beyond)
	return l
}

// outliving returns s with a History that lets effects outlive the events of these sources,
// including sources that Dedup does not contain.
func (s Settings) outliving(sources []identity.Source) Settings {
	beyond := s.History - s.longestDedup()
	for _, source := range sources {
		s.History = max(s.History, s.dedupOf(source)+beyond)
	}
	return s
}

// stored is the form in which a process announces its settings, in seconds.
type stored struct {
	Dedup    map[identity.Source]float64 `json:"dedup"`
	Other    float64                     `json:"other"`
	Payloads float64                     `json:"payloads"`
	History  float64                     `json:"history"`
	Audit    float64                     `json:"audit"`
}

func (s Settings) stored() stored {
	told := stored{
		Dedup: make(map[identity.Source]float64, len(s.Dedup)),
		Other: s.Other.Seconds(), Payloads: s.Payloads.Seconds(), History: s.History.Seconds(), Audit: s.Audit.Seconds(),
	}
	for _, source := range slices.Sorted(maps.Keys(s.Dedup)) {
		told.Dedup[source] = s.Dedup[source].Seconds()
	}
	return told
}

func (s stored) settings() Settings {
	told := Settings{
		Dedup: make(map[identity.Source]time.Duration, len(s.Dedup)),
		Other: seconds(s.Other), Payloads: seconds(s.Payloads), History: seconds(s.History), Audit: seconds(s.Audit),
	}
	for source, dedup := range s.Dedup {
		told.Dedup[source] = seconds(dedup)
	}
	return told.WithDefaults()
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
