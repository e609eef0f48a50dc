package route

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// planCase is a file of testdata/plan: an event and routes, with the planned effects.
type planCase struct {
	Event struct {
		Source, Provider, Type, ID, Item string
		Generation                       int
		Headers                          map[string][]string
		ContentType                      string `yaml:"content_type"`
		Body                             string
	}
	Families map[string][]string // for every route with forward
	Routes   []Route
	Want     []planned
	Error    string // exact reason why the only effect is parked
}

// planned is an effect in a file of testdata/plan. A missing field has the zero value.
type planned struct {
	Route, Scope, Key, Destination, Queue, Policy, Method, URL string
	Generation                                                 int
	Headers                                                    map[string][]string
	ContentType                                                string `yaml:"content_type"`
	Body                                                       string
	Forward, Late                                              bool
	OrderKey                                                   string `yaml:"order_key"`
	LatestKey                                                  string `yaml:"latest_key"`
	OnPark                                                     string `yaml:"on_park"`
}

// kindOnly is a destination that has only a kind. A plan needs nothing else of it.
type kindOnly string

func (k kindOnly) Kind() string                               { return string(k) }
func (k kindOnly) FirstRequest(*ledger.Effect) ledger.Request { return ledger.Request{} }
func (k kindOnly) Send(context.Context, *ledger.Effect) destination.Outcome {
	return destination.Outcome{}
}

// compiled returns a Table for the test targets. Evaluations may take as long as a busy machine
// needs: another test covers the timeout.
func compiled(t *testing.T, o Options) *Table {
	t.Helper()
	o.Targets = planTargets(t)
	table, err := Compile(o)
	require.NoError(t, err)
	table.timeout = time.Minute
	return table
}

// planTargets returns the targets for testdata files.
func planTargets(t *testing.T) []Target {
	t.Helper()
	app, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: "https://app.example.com/hooks"})
	require.NoError(t, err)
	purge, err := destination.NewHTTP(destination.HTTPOptions{Name: "purge", URL: "https://cdn.example.com", Method: "DELETE"})
	require.NoError(t, err)
	books, err := destination.NewSQL(destination.SQLOptions{Name: "books", Statements: map[string]string{
		"credit": "INSERT INTO credits VALUES ($1, $2, $3) -- $4",
		"note":   "INSERT INTO notes VALUES ('$2', $1)",
	}})
	require.NoError(t, err)
	chat, err := destination.NewHTTP(destination.HTTPOptions{Name: "chat", Preset: "slack", URL: "https://hooks.example.com/T0/B0"})
	require.NoError(t, err)
	stream, err := destination.NewNATS(destination.NATSOptions{
		BrokerOptions: destination.BrokerOptions{Name: "stream", Servers: []string{"nats.example.com"}}, Subject: "events",
	})
	require.NoError(t, err)
	return []Target{
		{Name: "stream", Queue: "dst_stream", Policy: ledger.AtLeastOnce, Sender: stream},
		{Name: "chat", Queue: "dst_chat", Policy: ledger.AtLeastOnce, Sender: chat},
		{Name: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce, Sender: app},
		{Name: "purge", Queue: "dst_purge", Policy: ledger.AtLeastOnce, Sender: purge},
		{Name: "mail", Queue: "dst_mail", Policy: ledger.AtMostOnce, Sender: kindOnly("email")},
		{Name: "books", Queue: "dst_books", Policy: ledger.AtLeastOnce, Sender: books},
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plan/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			var c planCase
			loadYAML(t, file, &c)
			for _, r := range c.Routes {
				if r.Forward != nil {
					r.Forward.Families = c.Families
				}
			}
			table := compiled(t, Options{Routes: c.Routes, ConfigHash: "test"})
			effects, err := table.Plan(t.Context(), c.event())
			require.NoError(t, err)
			again, err := table.Plan(t.Context(), c.event())
			require.NoError(t, err)
			require.Equal(t, effects, again, "the same plan every time")
			if c.Error != "" {
				require.Len(t, effects, 1)
				require.Equal(t, c.Error, effects[0].Parked)
				require.Empty(t, effects[0].Request)
				require.NotEmpty(t, effects[0].Key)
				return
			}
			var got []planned
			for _, e := range effects {
				got = append(got, planned{
					Route: e.Route, Scope: string(e.Scope), Key: string(e.Key), Generation: e.Generation,
					Destination: e.Destination, Queue: e.Queue, Policy: string(e.Policy),
					Method: e.Request.Method, URL: e.Request.URL, Headers: e.Request.Headers,
					ContentType: e.Request.ContentType, Body: string(e.Request.Body), Forward: e.Request.FromDelivery, Late: e.Request.Late,
					OrderKey: e.OrderKey, LatestKey: e.LatestKey, OnPark: string(e.OnPark),
				})
				require.Empty(t, e.Parked)
			}
			if diff := cmp.Diff(c.want(), got); diff != "" {
				t.Errorf("effects differ from the file (-want +got):\n%s", diff)
			}
		})
	}
}

func (c *planCase) event() *inbox.Event {
	return &inbox.Event{
		EventRef:         identity.EventRef{Source: identity.Source(c.Event.Source), EventID: identity.EventID(c.Event.ID)},
		Provider:         c.Event.Provider,
		Type:             c.Event.Type,
		Item:             c.Event.Item,
		ReceivedAt:       time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		EffectGeneration: max(c.Event.Generation, 1),
		Generation:       7,
		Headers:          c.Event.Headers,
		ContentType:      c.Event.ContentType,
		Body:             []byte(c.Event.Body),
	}
}

// want returns the planned effects. It fills in values that the files omit because they are nearly
// always the same.
func (c *planCase) want() []planned {
	for i := range c.Want {
		w := &c.Want[i]
		w.Generation = max(w.Generation, 1)
		if w.Scope == "" {
			w.Scope = "route:" + c.Event.Source + ":" + w.Route
		}
		if w.Key == "" {
			w.Key = c.Event.ID
		}
		w.Queue, w.Policy = "dst_"+w.Destination, "at_least_once"
		if w.Destination == "mail" {
			w.Policy = "at_most_once"
		} else if w.Forward && w.Method == "" && w.URL == "" { // a route with neither http nor message
			w.Headers = maps.Clone(w.Headers)
			if w.Headers == nil {
				w.Headers = map[string][]string{}
			}
			w.Headers[destination.HeaderReceivedAt] = []string{"2026-11-21T08:00:00Z"}
		} else if w.Headers == nil && w.Destination == "app" && !w.Late {
			w.Headers = map[string][]string{}
		}
	}
	return c.Want
}

func loadYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(data, into, yaml.Strict()))
}

// routesCase is a file in testdata/routes: refused routes, with the reasons.
type routesCase struct {
	Routes []Route
	Errors []string // lines of the error, in order
}

func TestRoutesRefused(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/routes/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			var c routesCase
			loadYAML(t, file, &c)
			err := Check(c.Routes, planTargets(t))
			require.Error(t, err)
			require.Equal(t, strings.Join(c.Errors, "\n"), err.Error())
			var routeErr *Error
			require.ErrorAs(t, err, &routeErr)
		})
	}
}

func TestLedgerKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, "in_1", ledgerKey("in_1"))
	require.Equal(t, strings.Repeat("k", 255), ledgerKey(strings.Repeat("k", 255)))
	hashed := ledgerKey(strings.Repeat("k", 256))
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, hashed)
	require.NotEqual(t, hashed, ledgerKey(hashed), "an event cannot choose another event's key")
	require.Regexp(t, `^sha256:`, ledgerKey("a\x00b"))
	require.Regexp(t, `^sha256:`, ledgerKey("a\xffb"))
}

func FuzzParsePayload(f *testing.F) {
	f.Add("application/json", []byte(`{"a":[1,2.5,18446744073709551615,1e400,"\ud800"],"a":null}`))
	f.Add("application/x-www-form-urlencoded", []byte("a=1&a=2&b=%00%ff"))
	f.Add("", []byte(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)))
	envs, err := newExpressionEnvs()
	require.NoError(f, err)
	whole, err := compileExpression(envs.render, "body", wantAny)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		scope := newEventScope(t.Context(), &inbox.Event{ContentType: contentType, Body: body})
		value, err := whole.eval(scope)
		require.NoError(t, err)
		encoded, err := encodeJSON(value)
		if err != nil {
			return // a number out of range
		}
		require.True(t, json.Valid(encoded), "the result is valid JSON: %q", encoded)
		again, err := whole.eval(newEventScope(t.Context(), &inbox.Event{Body: encoded}))
		require.NoError(t, err)
		encodedAgain, err := encodeJSON(again)
		require.NoError(t, err)
		require.Equal(t, string(encoded), string(encodedAgain), "rendering the result again changes nothing")
	})
}
