package provider

import (
	"encoding/json"
	"fmt"
	"slices"
)

// About is the information that an operator needs about a sender. The pages of
// docs/providers and the command `hooklatch providers` show it.
type About struct {
	// Confirmed is the evidence for each fact that the provider relies on.
	Confirmed Confirmed
	// Signing explains how the sender proves its identity.
	Signing string
	// KeyRule explains what makes two deliveries the same event.
	KeyRule string
	// Setup are the steps at the sender's side, in order, with the place where
	// the secret is found. {url} stands for the URL of the endpoint.
	Setup []string
	// Notes are pitfalls.
	Notes []string
	// Backfill explains how missed events are found at the sender. Empty: they cannot
	// be found.
	Backfill string
	// Docs is the URL of the sender's own documentation.
	Docs string
}

// Confirmed is the evidence for each fact. Every provider declares all of them.
type Confirmed struct {
	Signature   Evidence `json:"signature"`    // what is signed, and how
	EventID     Evidence `json:"event_id"`     // that it identifies the event, and stays the same when it is resent
	Handshake   Evidence `json:"handshake"`    // how the sender checks the endpoint
	RetryWindow Evidence `json:"retry_window"` // for how long it tries again by itself
	Resend      Evidence `json:"resend"`       // for how long an operator can make it resend
}

// Facts returns the evidence by the JSON name of each fact.
func (c Confirmed) Facts() map[string]Evidence {
	return map[string]Evidence{
		"signature": c.Signature, "event_id": c.EventID, "handshake": c.Handshake, "retry_window": c.RetryWindow, "resend": c.Resend,
	}
}

// Evidence is what confirms a fact, as a set of sources.
type Evidence uint8

// The sources of evidence, from best to worst. The last three are never combined with
// others.
const (
	// Documentation of the sender, or the source of its own libraries.
	Documentation Evidence = 1 << iota
	// Vector is a published test vector that our tests verify: a delivery of
	// catalog/testdata that says where it was published. For signatures and
	// handshakes only.
	Vector
	// SDK is a library that signs and verifies against ours in the tests of
	// sdktest. For signatures only.
	SDK
	// Others is third parties that quote the sender in their code and texts.
	Others
	// Nobody is general knowledge that could not be checked. Verify it before you rely
	// on it.
	Nobody
	// Configured is the configuration of the source itself.
	Configured
	// NoSuchThing means that the sender has nothing of the kind.
	NoSuchThing
)

// evidenceNames returns the names of the constants, in their order.
func evidenceNames() []string {
	return []string{"documentation", "vector", "sdk", "others", "nobody", "configured", "no_such_thing"}
}

// Names returns the names of the evidence, from best to worst.
func (e Evidence) Names() []string {
	var names []string
	for i, name := range evidenceNames() {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// MarshalJSON implements json.Marshaler: the list of names.
func (e Evidence) MarshalJSON() ([]byte, error) { return json.Marshal(e.Names()) }

// UnmarshalJSON implements json.Unmarshaler.
func (e *Evidence) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	*e = 0
	for _, name := range names {
		i := slices.Index(evidenceNames(), name)
		if i < 0 {
			return fmt.Errorf("%q is not a kind of evidence", name)
		}
		*e |= 1 << i
	}
	return nil
}
