package proof

import (
	"crypto/hmac"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Readings are the encodings that senders of one scheme use for their secrets. A secret
// can name its own.
type Readings struct {
	all []KeySpelling
	// tries bounds how often a signature that fits nothing is compared with the other
	// readings too: strangers send as many of them as they like.
	tries *rate.Limiter
}

// NewReadings returns the readings of a scheme.
func NewReadings(all ...KeySpelling) *Readings {
	return &Readings{all: all, tries: rate.NewLimiter(rate.Every(time.Second), 1)}
}

// SecretAs is for Provider.SecretAs: it spells a secret that is written in another
// encoding in that of the source.
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

// hint says how a secret would have to be read for one of the signatures to match. It
// is empty if none matches, or if that was not tried.
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
