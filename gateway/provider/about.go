package provider

import (
	"encoding/json"
	"fmt"
	"slices"
)

// About describes a sender to operators. The pages in docs/providers and the command
// `hooklatch providers` show it.
type About struct {
	// Confirmed is the evidence for each fact that the declaration relies on.
	Confirmed Confirmed
	// Signing explains how the sender authenticates its requests.
	Signing string
	// KeyRule explains when two deliveries count as the same event.
	KeyRule string
	// Setup lists the steps at the sender's side, in order, including where to find the
	// secret. {url} stands for the endpoint's URL.
	Setup []string
	// Notes lists pitfalls.
	Notes []string
	// Backfill explains how to find missed events at the sender. It is empty if the sender offers
	// no way to find them.
	Backfill string
	// Docs is the URL of the sender's documentation.
	Docs string
}

// Confirmed is the evidence for each fact. Every provider declares the evidence for all facts.
type Confirmed struct {
	Signature   Evidence `json:"signature"`    // signed content and signature method
	EventID     Evidence `json:"event_id"`     // the id identifies the event and stays the same when the event is resent
	Handshake   Evidence `json:"handshake"`    // the sender's endpoint check
	RetryWindow Evidence `json:"retry_window"` // how long the sender retries automatically
	Resend      Evidence `json:"resend"`       // how long an operator can make the sender resend
}

// Facts returns the evidence for each fact, by the fact's JSON name.
func (c Confirmed) Facts() map[string]Evidence {
	return map[string]Evidence{
		"signature": c.Signature, "event_id": c.EventID, "handshake": c.Handshake, "retry_window": c.RetryWindow, "resend": c.Resend,
	}
}

// Evidence is the set of sources that confirm a fact.
type Evidence uint8

// Sources of evidence, from best to worst. The last three are never combined with another value.
const (
	// Documentation means the sender's documentation, or the source code of its own libraries.
	Documentation Evidence = 1 << iota
	// Vector means that our tests verify a published test vector. The delivery in catalog/testdata
	// says where the vector was published. Vector applies to signatures and handshakes only.
	Vector
	// SDK means that, in sdktest's tests, a library signs requests that Hooklatch verifies, or
	// verifies requests that Hooklatch signs. SDK applies to signatures only.
	SDK
	// Others means third parties that quote the sender in their code and documentation.
	Others
	// Nobody means that no source confirms the fact: it is general knowledge. Verify it before you
	// rely on it.
	Nobody
	// Configured means that the source's configuration determines the fact.
	Configured
	// NoSuchThing means that the sender has no such feature.
	NoSuchThing
)

// evidenceNames returns the names of the Evidence constants, in their order.
func evidenceNames() []string {
	return []string{"documentation", "vector", "sdk", "others", "nobody", "configured", "no_such_thing"}
}

// Names returns the names of the sources in e, from best to worst.
func (e Evidence) Names() []string {
	var names []string
	for i, name := range evidenceNames() {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// MarshalJSON implements json.Marshaler. It writes the list of names.
func (e Evidence) MarshalJSON() ([]byte, error) { return json.Marshal(e.Names()) }

// UnmarshalJSON implements json.Unmarshaler. It returns an error for an unknown name.
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
