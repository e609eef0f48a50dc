// Package scenario defines the sources, destinations and routes of a torture run, and renders the
// configuration file that contains them.
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

// Source is an endpoint of the run. Its provider decides the shape of the bodies. For provider
// hmac, Shape decides.
type Source struct {
	Name     string
	Provider string
	Options  provider.Options // the provider's configuration
	Secret   secret.Value
	Shape    Shape
	Handlers bool // the application's handlers process its events
	Content  bool // a body repeated within the window is a duplicate, whatever the event's id
	Weight   int  // share of the traffic; defaults to the weight of its shape
}

// Shape is the shape of a source's bodies.
type Shape string

// The shapes.
const (
	Sample  Shape = "sample"  // the provider's own sample, with an id of the run
	Account Shape = "account" // {"id", "type", "account", "version", "occurred_at"}: a new version of an account
	Batch   Shape = "batch"   // a list of 1 to 20 account objects: a delivery with many events
	Repeat  Shape = "repeat"  // {"said"}: the same body for two ids, which are in the signed header X-Id
	Poison  Shape = "poison"  // any bytes; the id is in the signed header X-Id
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

// SourceNamed returns the endpoint with the given name. It panics if none exists.
func SourceNamed(name string) Source {
	sources := Sources()
	i := slices.IndexFunc(sources, func(s Source) bool { return s.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("there is no source %q", name))
	}
	return sources[i]
}

// Destination is a destination of the run, with its route.
type Destination struct {
	Name   string
	Kind   string // http, email or sql, as in the ledger
	Policy ledger.Policy
	Route  string // permanent route to the destination; empty for none
	From   []string
	// OrderBy and LatestBy are expressions in the route.
	OrderBy, LatestBy string
}

// Destinations returns the destinations with their routes. All HTTP receivers apply each key
// once, so no effect may be applied twice.
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

// Tables contains the SQL that creates the tables of the run's own schema, torture. The sql
// effects, the handlers and the application's transactions write to them (I9, I10). The SQL can be
// executed again.
//
//go:embed tables.sql
var Tables string

// BookStatement is the name of the statement of the sql destination.
const BookStatement = "book"

// Settings contains the settings that differ between a run's processes.
type Settings struct {
	DatabaseURL   secret.Value
	GatewayListen string
	AdminListen   string
	ReceiverURL   string // base of the destinations' URLs, to which their names are appended
	ListURL       string // API URL of the sender with a list; empty for none
	MailHost      string
	MailPort      int
	// Production leaves all times at their defaults. Otherwise they are short, so that many
	// leases end in a run.
	Production bool
	// Accepts includes the source Late and its route in every deployment. It is for gateways,
	// some of which have a worker.
	Accepts bool
	// Deployment is the state after the process's last rolling deployment.
	Deployment Deployment
	// Variation changes something that a reload may change and that no guarantee depends on.
	Variation int
	// Broken makes the file invalid, so that processes must refuse it.
	Broken bool
	// Previous omits keys that the previous version does not support.
	Previous bool
	// Mine contains settings that override the run's settings.
	Mine Own
}

// Own contains a user's configuration keys for the gateway, the worker and every destination.
type Own struct {
	Gateway     map[string]any `yaml:"gateway"`
	Worker      map[string]any `yaml:"worker"`
	Destination map[string]any `yaml:"destination"`
}

// shortTimes returns times with which many leases end and many attempts happen in a run.
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

// blocks returns the parts of the configuration that the settings decide.
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

// File returns the configuration file of a process.
func File(s Settings) ([]byte, error) {
	text, err := template.New("hooklatch.yaml").Funcs(template.FuncMap{
		"list":   func(names []string) string { return "[" + strings.Join(names, ", ") + "]" },
		"has":    func(source string) bool { return source != Late || s.Accepts || s.Deployment.Late },
		"routed": func(from []string) bool { return s.Deployment.Late || s.Accepts || !slices.Contains(from, Late) },
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value) // JSON is also YAML
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
