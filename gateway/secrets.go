package gateway

import (
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Secret is one of a source's keys, with the period in which it is accepted. The gateway compares
// the period with its clock when a request arrives and when AcceptAgain is called.
type Secret struct {
	Value secret.Value
	// NotBefore and NotAfter limit the period, inclusively. Zero means no limit. Some senders sign
	// the retries of an event with the secret of its first delivery. For these senders, NotAfter is
	// the last time at which they sign a new event with the secret. The gateway accepts the secret
	// for Provider.RetryWindow longer.
	NotBefore, NotAfter time.Time
}

func (s Secret) validate() error {
	switch {
	case s.Value.IsZero():
		// With an empty HMAC key any client could sign.
		return errors.New("is empty")
	case !s.NotBefore.IsZero() && !s.NotAfter.IsZero() && !s.NotBefore.Before(s.NotAfter):
		return errors.New("is never accepted: NotBefore must be earlier than NotAfter")
	}
	return nil
}

func (s Secret) acceptedAt(now time.Time) bool {
	return (s.NotBefore.IsZero() || !now.Before(s.NotBefore)) && (s.NotAfter.IsZero() || !now.After(s.NotAfter))
}

var errNoValidSecret = errors.New("every secret of the source has expired or is not accepted yet")

// keyring holds a source's secrets in the order of its configuration.
type keyring struct {
	secrets []Secret // NotAfter includes RetryWindow if the provider has OldSecretRetries
	// always holds all secrets if none has a time limit, which is the usual case; otherwise it is
	// nil.
	always *usable
}

// usable holds the secrets accepted at one moment.
type usable struct {
	values    []secret.Value
	positions []int // each value's position in the configuration, from 0
}

func newKeyring(secrets []Secret, p *provider.Provider) keyring {
	k := keyring{secrets: make([]Secret, len(secrets))}
	bound := false
	for i, s := range secrets {
		if !s.NotAfter.IsZero() && p.OldSecretRetries {
			s.NotAfter = s.NotAfter.Add(p.RetryWindow)
		}
		bound = bound || !s.NotBefore.IsZero() || !s.NotAfter.IsZero()
		k.secrets[i] = s
	}
	if !bound {
		k.always = k.at(time.Time{})
	}
	return k
}

// at returns the secrets accepted at a given time, possibly none.
func (k keyring) at(now time.Time) *usable {
	if k.always != nil {
		return k.always
	}
	u := &usable{}
	for i, s := range k.secrets {
		if s.acceptedAt(now) {
			u.values, u.positions = append(u.values, s.Value), append(u.positions, i)
		}
	}
	return u
}

// position returns the configuration position of the secret that verified a request, or -1 if
// the request was verified without a secret.
func (u *usable) position(v provider.Verified) int {
	if v.SecretIndex < 0 || v.SecretIndex >= len(u.positions) {
		return -1
	}
	return u.positions[v.SecretIndex]
}
