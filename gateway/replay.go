package gateway

import (
	"crypto/sha256"
	"fmt"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
)

// ReplayGuard says what becomes of new events in a delivery whose proof came
// before: an attacker who captured it may have sent it again under fresh ids. It
// has an effect only for providers with a ReplayToken.
type ReplayGuard string

// The values of ReplayGuard. Whichever is set but ReplayOff, a delivery that
// brings another type or body than its proof came with before is at least held.
const (
	ReplayOff    ReplayGuard = "off"    // nothing is remembered
	ReplayFlag   ReplayGuard = "flag"   // accepted, marked as suspect, and warned of
	ReplayHold   ReplayGuard = "hold"   // accepted, and kept back until a person decides
	ReplayRefuse ReplayGuard = "refuse" // answered 401 and not stored
)

func (g ReplayGuard) validate() error {
	switch g {
	case "", ReplayOff, ReplayFlag, ReplayHold, ReplayRefuse:
		return nil
	}
	return fmt.Errorf("ReplayGuard %q must be one of off, flag, hold, refuse", string(g))
}

// DefaultReplayGuard is what a source of p has that sets none: ReplayRefuse
// where the proof does not cover the body, ReplayFlag where it does not cover
// the id. Elsewhere a proof comes with the same id always, and remembering it
// costs a row.
func DefaultReplayGuard(p *provider.Provider) ReplayGuard {
	switch {
	case p.UnsignedBody:
		return ReplayRefuse
	case p.UnsignedID:
		return ReplayFlag
	}
	return ReplayOff
}

// replayGuard is what the outbox must remember of a proven request, nil when
// there is nothing.
func (s *source) replayGuard(request *provider.Request, events []provider.Event) *outbox.ReplayGuard {
	if s.ReplayGuard == ReplayOff || s.Provider.ReplayToken == nil {
		return nil
	}
	token := s.Provider.ReplayToken(request)
	if token == "" {
		return nil
	}
	return &outbox.ReplayGuard{Proof: []byte(token), Content: unproven(request, events), Action: outbox.ReplayAction(s.ReplayGuard)}
}

// unproven is what may come under one proof in more than one way: the types of
// the events, which many senders put into a header that they do not sign, and
// the body, which some proofs do not cover.
func unproven(request *provider.Request, events []provider.Event) []byte {
	content := sha256.New()
	content.Write(request.Body)
	types := sha256.New()
	for _, e := range events {
		types.Write([]byte(e.Type))
		types.Write([]byte{0}) // is in no type
	}
	return types.Sum(content.Sum(nil))
}

// suspects are the events that came under a proof that had come before.
func suspects(a outbox.Acceptance) []outbox.AcceptedEvent {
	var found []outbox.AcceptedEvent
	for _, e := range a.Events {
		if e.ReplaySuspect && e.Status != outbox.Refused {
			found = append(found, e)
		}
	}
	return found
}
