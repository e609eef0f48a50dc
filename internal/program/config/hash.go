package config

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"regexp"

	"github.com/goccy/go-yaml"
)

// hashLength is that of Hash, in hexadecimal digits.
const hashLength = 16

// undecided are the fields that change no decision: one secret more or less
// while it is rotated, and how long events are remembered.
var undecided = regexp.MustCompile(`^sources\.[^.]*\.(secrets|retention)$|^destinations\.[^.]*\.http\.sign\.`)

// Hash names what decides about events: sources, destinations and routes,
// without secrets and without what the listeners, the database and the workers
// are set to. It is stored with every event that was dispatched or skipped. A
// rotated secret does not change it.
func (c *Config) Hash() string {
	decisive := Config{Sources: c.Sources, Destinations: c.Destinations, Routes: c.Routes}
	p := printer{files: c.origin.files, omit: undecided.MatchString}
	// Maps are sorted, and secrets are <secret>. Nothing in it can fail.
	text, err := yaml.Marshal(p.value("", reflect.ValueOf(decisive)))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashLength]
}
