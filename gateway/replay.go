package gateway

import (
	"crypto/sha256"
	"fmt"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
)

// ReplayGuard is what happens to new events in a delivery whose proof was used before: an
// attacker who captured it may have sent it again under new ids. It has an effect only for
// providers with a ReplayToken.
type ReplayGuard string

// Values of ReplayGuard. With any value but ReplayOff, a delivery whose type or body
// differs from the one first seen with its proof is at least held.
const (
	ReplayOff    ReplayGuard = "off"    // no proof is remembered
	ReplayFlag   ReplayGuard = "flag"   // accepted, marked as suspect, and logged as a warning
	ReplayHold   ReplayGuard = "hold"   // accepted, and held until an operator decides
	ReplayRefuse ReplayGuard = "refuse" // answered 401 and not stored
)

func (g ReplayGuard) validate() error {
	switch g {
	case "", ReplayOff, ReplayFlag, ReplayHold, ReplayRefuse:
		return nil
	}
	return fmt.Errorf("ReplayGuard %q must be one of off, flag, hold, refuse", string(g))
}

// DefaultReplayGuard returns the guard of a source of p that sets none: ReplayRefuse if the
// proof does not cover the body, ReplayFlag if it does not cover the id. For other
// providers a proof always has the same id, and remembering it would cost a row.
func DefaultReplayGuard(p *provider.Provider) ReplayGuard {
	switch {
	case p.UnsignedBody:
		return ReplayRefuse
	case p.UnsignedID:
		return ReplayFlag
	}
	return ReplayOff
}

// replayGuard returns what the outbox must remember of a proven request, or nil.
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

// unproven hashes what may vary under one proof: the types of the events, which many
// senders put into an unsigned header, and the body, which some proofs do not cover.
func unproven(request *provider.Request, events []provider.Event) []byte {
	content := sha256.New()
	content.Write(request.Body)
	types := sha256.New()
	for _, e := range events {
		types.Write([]byte(e.Type))
		types.Write([]byte{0}) // no type contains it
	}
	return types.Sum(content.Sum(nil))
}

// suspects returns the accepted events whose proof was used before.
func suspects(a outbox.Acceptance) []outbox.AcceptedEvent {
	var found []outbox.AcceptedEvent
	for _, e := range a.Events {
		if e.ReplaySuspect && e.Status != outbox.Refused {
			found = append(found, e)
		}
	}
	return found
}
