package gateway

import (
	"crypto/sha256"
	"fmt"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
)

// ReplayGuard selects how new events are handled if their delivery's signature was used before. An
// attacker may have captured the first delivery and sent it again under new ids. A ReplayGuard has
// an effect only for providers with a ReplayToken.
type ReplayGuard string

// Values of ReplayGuard. Unless the value is ReplayOff, the body and the event types are compared
// with those in the first delivery with the same signature. If they differ, the delivery is at
// least held.
const (
	ReplayOff    ReplayGuard = "off"    // no signature is remembered
	ReplayFlag   ReplayGuard = "flag"   // accepted, marked as suspect, and logged as a warning
	ReplayHold   ReplayGuard = "hold"   // accepted, and held until an operator decides
	ReplayRefuse ReplayGuard = "refuse" // gets a 401 and is not stored
)

func (g ReplayGuard) validate() error {
	switch g {
	case "", ReplayOff, ReplayFlag, ReplayHold, ReplayRefuse:
		return nil
	}
	return fmt.Errorf("ReplayGuard %q must be one of off, flag, hold, refuse", string(g))
}

// DefaultReplayGuard returns the guard for a source of p that does not set one: ReplayRefuse
// if the signature does not cover the body, and ReplayFlag if it does not cover the id. For other
// providers it returns ReplayOff: their signatures cover the id, and every remembered signature
// would cost a row.
func DefaultReplayGuard(p *provider.Provider) ReplayGuard {
	switch {
	case p.UnsignedBody:
		return ReplayRefuse
	case p.UnsignedID:
		return ReplayFlag
	}
	return ReplayOff
}

// replayGuard returns what the outbox must remember about a verified request, or nil.
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

// unproven hashes the content that may vary under one signature: the event types and the body. Many
// senders put the type into an unsigned header, and some signatures do not cover the body.
func unproven(request *provider.Request, events []provider.Event) []byte {
	content := sha256.New()
	content.Write(request.Body)
	types := sha256.New()
	for _, e := range events {
		types.Write([]byte(e.Type))
		types.Write([]byte{0}) // a separator that no type contains
	}
	return types.Sum(content.Sum(nil))
}

// suspects returns the accepted events whose signature was used before.
func suspects(a outbox.Acceptance) []outbox.AcceptedEvent {
	var found []outbox.AcceptedEvent
	for _, e := range a.Events {
		if e.ReplaySuspect && e.Status != outbox.Refused {
			found = append(found, e)
		}
	}
	return found
}
