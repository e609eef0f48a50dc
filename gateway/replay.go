package gateway

import (
	"fmt"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
)

// ReplayGuard says what becomes of new events in a delivery whose proof came
// before: somebody who captured it may have sent it again under fresh ids. It
// has an effect only for providers with a ReplayToken.
type ReplayGuard string

// The values of ReplayGuard.
const (
	ReplayOff    ReplayGuard = "off"    // nothing is remembered
	ReplayFlag   ReplayGuard = "flag"   // accepted, marked as suspect, and warned of
	ReplayRefuse ReplayGuard = "refuse" // answered 401 and not stored
)

func (g ReplayGuard) validate() error {
	switch g {
	case "", ReplayOff, ReplayFlag, ReplayRefuse:
		return nil
	}
	return fmt.Errorf("ReplayGuard %q must be one of off, flag, refuse", string(g))
}

// orDefault is ReplayFlag for senders that sign neither id nor time. Elsewhere
// a proof comes with the same id always, and remembering it costs a row.
func (g ReplayGuard) orDefault(p *provider.Provider) ReplayGuard {
	switch {
	case g != "":
		return g
	case p.UnsignedID:
		return ReplayFlag
	}
	return ReplayOff
}

// replayGuard is what the outbox must remember of a proven request, nil when
// there is nothing.
func (s *source) replayGuard(request *provider.Request) *outbox.ReplayGuard {
	if s.ReplayGuard == ReplayOff || s.Provider.ReplayToken == nil {
		return nil
	}
	token := s.Provider.ReplayToken(request)
	if token == "" {
		return nil
	}
	return &outbox.ReplayGuard{Proof: []byte(token), Refuse: s.ReplayGuard == ReplayRefuse}
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
