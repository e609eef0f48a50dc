package config

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"regexp"

	"github.com/goccy/go-yaml"
)

// hashLength is the length of Hash in hexadecimal digits.
const hashLength = 16

// undecided matches the paths of fields that change no decision about an event. These are secrets,
// the retention of a source's events, and the cell whose database stores them.
var undecided = regexp.MustCompile(`^sources\.[^.]*\.(secrets|retention|cell)$|^destinations\.[^.]*\.http\.sign\.`)

// Hash returns a hash of the settings that decide about events: sources, destinations and routes,
// without secrets and without each source's retention and cell. The hash is stored with every event
// that was dispatched or skipped. Rotating a secret does not change the hash.
func (c *Config) Hash() string {
	decisive := Config{Sources: c.Sources, Destinations: c.Destinations, Routes: c.Routes}
	p := printer{files: c.origin.files, omit: undecided.MatchString}
	// Maps are sorted, and secrets are <secret>. Marshalling cannot fail.
	text, err := yaml.Marshal(p.value("", reflect.ValueOf(decisive)))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashLength]
}
