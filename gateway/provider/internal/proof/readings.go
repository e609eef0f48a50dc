package proof

import (
	"crypto/hmac"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Readings are the encodings that a scheme's senders use for their secrets. A secret can
// specify its own encoding.
type Readings struct {
	all []KeySpelling
	// tries limits how often an unmatched signature is also checked with the secrets' other
	// readings, because unknown senders can send any number of such signatures.
	tries *rate.Limiter
}

// NewReadings returns readings that allow one comparison a second (see tries).
func NewReadings(all ...KeySpelling) *Readings {
	return &Readings{all: all, tries: rate.NewLimiter(rate.Every(time.Second), 1)}
}

// SecretAs implements Provider.SecretAs: it converts a secret from another encoding to the
// source's encoding.
func (k KeySpelling) SecretAs(s secret.Value, encoding string) (secret.Value, error) {
	var known []string
	for _, reading := range k.Readings.all {
		if string(reading.Encoding) == encoding {
			key, err := reading.Key(s)
			return secret.New(k.Prefix + k.Encoding.Encode(key)), err
		}
		known = append(known, string(reading.Encoding))
	}
	return secret.Value{}, fmt.Errorf("encoding is %q; allowed: %s", encoding, strings.Join(known, ", "))
}

// hint describes the encoding with which a secret would match one of the signatures. It returns ""
// if no secret would match, or if the limit on comparisons is reached.
func (k KeySpelling) hint(secrets []secret.Value, given [][]byte, macs func(key []byte) [][]byte) string {
	if k.Readings == nil || !k.Readings.tries.Allow() {
		return ""
	}
	for _, s := range secrets {
		for _, reading := range k.Readings.all {
			key, err := reading.Key(s)
			if err != nil || reading.Encoding == k.Encoding {
				continue
			}
			for _, mac := range macs(key) {
				for _, signature := range given {
					if hmac.Equal(mac, signature) {
						return fmt.Sprintf("it matches a secret that is read as %[1]s; write that secret as {value: ..., encoding: %[1]s}", reading.Encoding)
					}
				}
			}
		}
	}
	return ""
}
