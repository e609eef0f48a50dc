// Package scenario defines the cast of a torture run: which sources, destinations and
// routes there are, what each is there to prove, and the configuration file that says
// so.
package scenario

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Source is an endpoint of the run. What its body looks like is decided by its
// provider, or by Shape for provider hmac.
type Source struct {
	Name     string
	Provider string
	Options  provider.Options // as configured
	Secret   secret.Value
	Shape    Shape
	Handlers bool // its events go to the handlers of the application
	Content  bool // what repeats a body within the window is a duplicate, whatever its id
	Weight   int  // of its share in the traffic. Defaults to that of its shape
}

// Shape is what the bodies of a source look like.
type Shape string

// The shapes.
const (
	Sample  Shape = "sample"  // the provider's own sample, with our id in it
	Account Shape = "account" // {"id", "type", "account", "version", "occurred_at"}: belongs to an account, newer by version
	Batch   Shape = "batch"   // a list of 1 to 20 such objects: a delivery of many events
	Repeat  Shape = "repeat"  // {"said"}: the same for two ids, which stand in the header X-Id, signed
	Poison  Shape = "poison"  // any bytes at all; the id stands in the header X-Id, signed
)

// Sources returns the endpoints.
func Sources() []Source {
	account := provider.Options{
		Header:     "X-Signature",
		EventID:    provider.EventID{Pointer: "/id"},
		OccurredAt: provider.Clock{Pointer: "/occurred_at"},
	}
	batch := account
	batch.Each = "body"
	return []Source{
		{Name: "stripe", Provider: "stripe", Secret: secret.New("whsec_torture_stripe_0123456789abcdef"), Shape: Sample},
		{Name: "github", Provider: "github", Secret: secret.New("torture_github_0123456789abcdef"), Shape: Sample},
		{Name: "slack", Provider: "slack", Secret: secret.New("torture_slack_0123456789abcdef01"), Shape: Sample},
		{Name: "orders", Provider: "hmac", Options: account, Secret: secret.New("torture_orders_0123456789abcdef"), Shape: Account},
		{Name: "batches", Provider: "hmac", Options: batch, Secret: secret.New("torture_batches_0123456789abcdef"), Shape: Batch},
		{
			Name: "poison", Provider: "hmac", Secret: secret.New("torture_poison_0123456789abcdef"), Shape: Poison,
			Options: provider.Options{Header: "X-Signature", IDHeader: "X-Id", Template: "{id}.{body}", Type: provider.Field{Fixed: "poison"}},
		},
		{Name: "handled", Provider: "hmac", Options: account, Secret: secret.New("torture_handled_0123456789abcdef"), Shape: Account, Handlers: true},
		{
			Name: "repeats", Provider: "hmac", Secret: secret.New("torture_repeats_0123456789abcdef"), Shape: Repeat, Content: true,
			Options: provider.Options{Header: "X-Signature", IDHeader: "X-Id", Template: "{id}.{body}", Type: provider.Field{Fixed: "repeated"}},
		},
		{Name: Late, Provider: "hmac", Options: account, Secret: secret.New("torture_late_0123456789abcdef012"), Shape: Account},
	}
}

// SourceNamed returns the endpoint of a name.
func SourceNamed(name string) Source {
	sources := Sources()
	i := slices.IndexFunc(sources, func(s Source) bool { return s.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("there is no source %q", name))
	}
	return sources[i]
}

// Destination is where effects go.
type Destination struct {
	Name   string
	Kind   string // http, email or sql, as the ledger calls it
	Policy ledger.Policy
	Route  string // that leads here; empty: what the application enqueues
	From   []string
	// OrderBy and LatestBy are the expressions of the route.
	OrderBy, LatestBy string
}

// Destinations returns them with their routes. All HTTP receivers honour keys, so
// that each effect must be applied once.
func Destinations() []Destination {
	return []Destination{
		{Name: "app", Kind: "http", Policy: ledger.AtLeastOnce, Route: "everything", From: []string{"stripe", "github", "slack", "batches", "poison", "repeats"}},
		{Name: "careful", Kind: "http", Policy: ledger.AtMostOnce, Route: "careful", From: []string{"stripe", "orders"}},
		{Name: "ordered", Kind: "http", Policy: ledger.AtLeastOnce, Route: "ordered", From: []string{"orders"}, OrderBy: "body.account"},
		{Name: "latest", Kind: "http", Policy: ledger.AtLeastOnce, Route: "latest", From: []string{"orders"}, LatestBy: "body.account"},
		{Name: "books", Kind: "sql", Policy: ledger.AtLeastOnce, Route: "books", From: []string{"orders", "batches"}},
		{Name: "mail", Kind: "email", Policy: ledger.AtMostOnce, Route: "mail", From: []string{"slack"}},
		{Name: "latecomer", Kind: "http", Policy: ledger.AtLeastOnce, Route: "latecomer", From: []string{Late}},
		{Name: "direct", Kind: "http", Policy: ledger.AtLeastOnce},
		{Name: Deployed, Kind: "http", Policy: ledger.AtLeastOnce},
	}
}

// Tables are those of the run's own schema, torture: what the sql effects and the
// handlers write, once for each event (I10). The statement can be repeated.
//
//go:embed tables.sql
var Tables string

// BookStatement is the name of the statement of the sql destination.
const BookStatement = "book"

// Settings are what differs from one process of a run to another.
type Settings struct {
	DatabaseURL   secret.Value
	GatewayListen string
	AdminListen   string
	ReceiverURL   string // destinations stand under it by their names
	ListURL       string // of the API of the sender that has a list; empty: there is none
	MailHost      string
	MailPort      int
	// Production leaves all times at their defaults. Otherwise they are short, so
	// that a run sees many leases end.
	Production bool
	// Accepts leaves the source Late in, whatever the deployment says: a gateway has it.
	Accepts bool
	// Deployment is what the last rolling deployment made of the process.
	Deployment Deployment
	// Variation changes what a reload may change and no guarantee rests on.
	Variation int
	// Broken makes a file that must be refused.
	Broken bool
	// Previous leaves out keys that the previous version does not know.
	Previous bool
	// Mine are settings that win over those of the run.
	Mine Own
}

// Own are keys of the configuration that a user runs with: of gateway, of worker,
// and of every destination.
type Own struct {
	Gateway     map[string]any `yaml:"gateway"`
	Worker      map[string]any `yaml:"worker"`
	Destination map[string]any `yaml:"destination"`
}

// shortTimes let a run see many leases end, and many attempts.
func shortTimes() Own {
	return Own{
		Gateway: map[string]any{"drain_timeout": "2s"},
		Worker:  map[string]any{"soft_stop": "2s"},
		Destination: map[string]any{
			"timeout": "1s",
			"retry":   map[string]any{"initial": "200ms", "max": "2s", "max_attempts": 100},
			"breaker": map[string]any{"probe": "500ms", "max_probe": "2s", "window": "5s"},
		},
	}
}

// blocks are the parts of the configuration that settings decide.
func (s Settings) blocks() Own {
	all := Own{
		Gateway:     map[string]any{},
		Worker:      map[string]any{"dispatch_workers": 20, "handler_workers": 4},
		Destination: map[string]any{},
	}
	layers := []Own{shortTimes(), s.Mine}
	if s.Production {
		layers = layers[1:]
	}
	for _, layer := range layers {
		maps.Copy(all.Gateway, layer.Gateway)
		maps.Copy(all.Worker, layer.Worker)
		maps.Copy(all.Destination, layer.Destination)
	}
	all.Gateway["listen"] = s.GatewayListen
	return all
}

//go:embed hooklatch.yaml.tmpl
var fileText string

// File returns the configuration of a process.
func File(s Settings) ([]byte, error) {
	text, err := template.New("hooklatch.yaml").Funcs(template.FuncMap{
		"list":   func(names []string) string { return "[" + strings.Join(names, ", ") + "]" },
		"has":    func(source string) bool { return source != Late || s.Accepts || s.Deployment.Late },
		"routed": func(from []string) bool { return s.Deployment.Late || !slices.Contains(from, Late) },
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value) // which is YAML too
			return string(text), err
		},
	}).Parse(fileText)
	if err != nil {
		return nil, fmt.Errorf("parse the template of the configuration: %w", err)
	}
	var file strings.Builder
	err = text.Execute(&file, struct {
		Settings
		Own
		Sources      []Source
		Destinations []Destination
		Statement    string
		Moving       string
		Deployed     string

		ListSecret, ListToken, ListEndpoint string
	}{s, s.blocks(), Sources(), Destinations(), BookStatement, Moving, Deployed, listed.Secret, listed.Token, listed.Endpoint})
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return []byte(file.String()), nil
}
