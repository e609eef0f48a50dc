package senders

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// forgery is the defect of a delivery that must be refused.
type forgery string

const (
	genuine       forgery = ""
	wrongSecret   forgery = "wrong secret"
	tampered      forgery = "body changed after it was signed"
	unsigned      forgery = "no signature"
	stale         forgery = "signed yesterday"
	early         forgery = "signed for tomorrow"
	unknownSource forgery = "unknown source"
)

// away is larger than the error of any clock in a run.
const away = 24 * time.Hour

// nobody is a source that does not exist.
const nobody = "nobody"

// forge sends a delivery that must be refused. It contains a new event that is never delivered
// correctly, or an earlier event with a changed body.
func (s *Senders) forge(src *source, dice *rand.Rand) {
	kinds := []forgery{wrongSecret, tampered, unsigned, unknownSource}
	if src.signsTime() {
		kinds = append(kinds, stale, early)
	}
	d := delivery{attempt: 1, forgery: kinds[dice.IntN(len(kinds))], to: s.anyGateway(dice)}
	if d.forgery == unknownSource {
		d.path = nobody
	}
	d.event = s.fresh(src, dice)
	if old := s.past.any(dice); old != nil && dice.IntN(4) == 0 && d.forgery == tampered {
		d.event = old
	}
	d.by = s.senderOf(d.event, 0)
	s.deliver(s.run, d, dice)
}

// signsTime reports whether a signature of the source expires.
func (s *source) signsTime() bool { return s.Provider == "stripe" || s.Provider == "slack" }

// sign signs a request, with the defect of the forgery.
func (f forgery) sign(r *provider.Request, src *source, dice *rand.Rand) error {
	key, now := src.Secret, time.Now()
	switch f {
	case wrongSecret:
		key = secret.New("of_somebody_else_0123456789abcdef")
	case stale:
		now = now.Add(-away)
	case early:
		now = now.Add(away)
	}
	before := r.Header.Clone()
	if err := src.provider.Sign(r, key, now); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	switch f {
	case unsigned:
		r.Header = before
	case tampered:
		r.Body = slices.Concat(r.Body, []byte(strings.Repeat(" ", 1+dice.IntN(9))))
	}
	return nil
}
