package sweep

import (
	_ "embed"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// sources returns the sources of a sweep. All use provider hmac, because the kind of signature
// makes no difference to crashes.
func sources() []scenario.Source {
	inBody := provider.Options{Header: "X-Signature", EventID: provider.EventID{Pointer: "/id"}}
	inHeader := provider.Options{Header: "X-Signature", EventID: provider.EventID{Header: "X-Id"}}
	all := []scenario.Source{
		{Name: sourceMain, Shape: scenario.Account, Options: inBody},                    // the events go to all destinations except destDesk
		{Name: "replayed", Shape: scenario.Account, Options: inBody},                    // the actor replays the events
		{Name: "handled", Shape: scenario.Account, Options: inBody, Handlers: true},     // the actor's handlers process the events
		{Name: "guarded", Shape: scenario.Repeat, Options: inHeader},                    // the id is not signed: a second id for a signature is held
		{Name: sourceRepeats, Shape: scenario.Repeat, Options: inHeader, Content: true}, // a repeated body is a duplicate, whatever the event's id; the checker has the same rule
	}
	for i := range all {
		all[i].Provider, all[i].Secret, all[i].Weight = "hmac", secret.New(sourceSecret), 1
	}
	all[0].Weight = 4 // enough events that effects wait for a slot, because only a waiting effect has a job that can be redirected
	return all
}

// Names of the sources that some processes do not have. Such a process leaves the events of these
// sources to other processes, even while its own configuration is the newest. Otherwise the order
// in which processes start would decide whether events have an effect for destExtra, and whether a
// gateway may plan events.
const (
	sourceMain    = "main"    // the events have effects for destExtra
	sourceRepeats = "repeats" // gateways plan the events
)

const sourceSecret = "sweep_0123456789abcdef0123456789abcdef"

// flaky returns the names of the destinations that fail for a while and then work for a while, so
// that their breakers open and close.
func flaky() []string { return []string{"flaky_1", "flaky_2", "flaky_3"} }

// Names of the destinations to which the code of the sweep refers.
const (
	// destExtra shares a queue with other destinations. So a process without destExtra fetches jobs
	// for destExtra, and has to give them back.
	destExtra = "extra"
	destFresh = "fresh" // the route reads the object before the first attempt
	destDesk  = "desk"  // for effects that the actor enqueues, resends, parks, retries, cancels and erases; the actor pauses and resumes it
)

// destinations returns the destinations that the sweep's receivers serve.
func destinations() []scenario.Destination {
	http := func(name string, policy ledger.Policy) scenario.Destination {
		return scenario.Destination{Name: name, Kind: "http", Policy: policy}
	}
	all := []scenario.Destination{
		http("app", ledger.AtLeastOnce), http(destExtra, ledger.AtLeastOnce), http("careful", ledger.AtMostOnce),
		http(destFresh, ledger.AtLeastOnce), http(destDesk, ledger.AtLeastOnce),
		{Name: "mail", Kind: "email", Policy: ledger.AtMostOnce},
	}
	for _, name := range flaky() {
		all = append(all, http(name, ledger.AtLeastOnce))
	}
	return all
}

//go:embed hooklatch.yaml.tmpl
var fileText string

// settings are the settings that differ between processes.
type settings struct {
	scenario.Settings

	// lacks lists the destinations and sources that the configuration omits.
	lacks []string
}

// Lacks reports whether the configuration omits a destination or a source.
func (s settings) Lacks(name string) bool { return slices.Contains(s.lacks, name) }

// cast returns the data for the template.
func (s settings) cast() any {
	return struct {
		settings

		Secret, ListSecret, ListToken, ListEndpoint string
		Flaky                                       []string
	}{s, sourceSecret, listed.Secret, listed.Token, listed.Endpoint, flaky()}
}
