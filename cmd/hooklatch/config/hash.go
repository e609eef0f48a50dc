package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// hashLength is that of Hash, in hexadecimal digits.
const hashLength = 16

// Hash names what decides about events: sources, destinations and routes,
// without secrets and without what the listeners, the database and the workers
// are set to. It is stored with every event that was dispatched or skipped. A
// rotated secret does not change it.
func (c *Config) Hash() string {
	decisive := struct {
		Sources      map[string]Source
		Destinations map[string]Destination
		Routes       []Route
	}{maps.Clone(c.Sources), maps.Clone(c.Destinations), c.Routes}
	for n, s := range decisive.Sources {
		// One secret more or less while it is rotated changes no decision.
		s.Secrets, s.SecretsFile = nil, ""
		s.Retention = SourceRetention{}
		decisive.Sources[n] = s
	}
	for n, dest := range decisive.Destinations {
		if dest.HTTP != nil && dest.HTTP.Sign != nil {
			h := *dest.HTTP
			h.Sign = &Sign{}
			dest.HTTP = &h
		}
		decisive.Destinations[n] = dest
	}
	// Maps are sorted, and secrets are <secret>. Nothing in it can fail.
	text, err := json.Marshal(decisive)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashLength]
}
