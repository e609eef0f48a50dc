package sweep

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// The sources of a sweep. All are of provider hmac: how senders sign is no matter
// of crashes.
const (
	sourceMain     = "main"     // its events go everywhere
	sourceReplayed = "replayed" // its events are replayed by the actor
	sourceHandled  = "handled"  // its events go to the handlers of the actor
	sourceGuarded  = "guarded"  // the id is not signed: a second id for a signature is held
	sourceRepeats  = "repeats"  // what repeats a body is a duplicate, whatever its id, as the checker knows
)

const sourceSecret = "sweep_0123456789abcdef0123456789abcdef"

// flaky are destinations that fail for a while and work for a while: their breakers
// open and close.
func flaky() []string { return []string{"flaky_1", "flaky_2", "flaky_3"} }

// The destinations of a sweep that the code names.
const (
	destFresh = "fresh" // its route reads the object before the first attempt
	destDesk  = "desk"  // what the actor enqueues, pauses, parks, retries and cancels
)

// destinations are those that receivers serve.
func destinations() []scenario.Destination {
	http := func(name string, policy ledger.Policy) scenario.Destination {
		return scenario.Destination{Name: name, Kind: "http", Policy: policy}
	}
	all := []scenario.Destination{
		http("app", ledger.AtLeastOnce), http("extra", ledger.AtLeastOnce), http("careful", ledger.AtMostOnce),
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

// settings are what differs from one process to another.
type settings struct {
	DatabaseURL   secret.Value
	GatewayListen string
	AdminListen   string
	ReceiverURL   string
	MailHost      string
	MailPort      int
	// Lacking leaves out a destination whose queue is shared: the process fetches
	// jobs of it all the same, and has to give them back.
	Lacking bool
}

// write makes the configuration file of a process.
func (s settings) write(path string) error {
	text, err := template.New("hooklatch.yaml").Parse(fileText)
	if err != nil {
		return fmt.Errorf("parse the template of the configuration: %w", err)
	}
	var file strings.Builder
	if err := text.Execute(&file, struct {
		settings

		Secret, ListSecret, ListToken, ListEndpoint string
		Flaky                                       []string
	}{s, sourceSecret, listed.Secret, listed.Token, listed.Endpoint, flaky()}); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
