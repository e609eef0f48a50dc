package route

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// canaryEvent returns an event with a value of every kind in every field that an expression or a
// template reads. No value may appear in an error.
func canaryEvent() *inbox.Event {
	return &inbox.Event{
		EventRef: identity.EventRef{Source: "shop", EventID: "canary-id"}, Provider: "stripe", Type: "canary.type", EffectGeneration: 1,
		ReceivedAt: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), ContentType: "application/json",
		Headers: map[string][]string{"X-Canary": {"canary header (["}},
		Body: []byte(`{"text":"canary ([\"x","url":"canary://host.canary:99999/","mail":"canary\u0000@b@c","number":731947731947,"double":731947.5,
			"list":["canary",731947],"map":{"canary":731947},"bool":true,"none":null,"time":"canary-11-21"}`),
	}
}

func requireNoValues(t *testing.T, err error, from string) {
	t.Helper()
	if err == nil {
		return
	}
	require.NotContains(t, strings.ToLower(err.Error()), "canary", from)
	require.NotContains(t, err.Error(), "731947", from)
}

// An error of a function contains no event values, whatever the function and its arguments are.
func TestErrorsOfExpressionsHaveNoValues(t *testing.T) {
	t.Parallel()
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	values := []string{"body.text", "body.number", "body.double", "body.list", "body.map", "body.bool", "body.none", "body.time", "headers", "event.received_at"}
	var texts []string
	for i, a := range values {
		for _, convert := range []string{"timestamp", "duration", "int", "uint", "double", "bool", "bytes"} {
			texts = append(texts, fmt.Sprintf("string(%s(%s))", convert, a))
		}
		for _, b := range values {
			for _, operator := range []string{"+", "-", "*", "/", "%", "<", "in", "=="} {
				texts = append(texts, fmt.Sprintf("string(%s %s %s)", a, operator, b))
			}
			texts = append(texts, fmt.Sprintf("string(body[%s][%s])", a, b), fmt.Sprintf("%s.canaries[%s]", a, b))
		}
		for name := range envs.render.Functions() {
			b := values[(i+1)%len(values)]
			texts = append(texts,
				fmt.Sprintf("string(dyn(%s(%s)))", name, a), fmt.Sprintf("string(dyn(%s(dyn(%s), dyn(%s))))", name, a, b),
				fmt.Sprintf("string(dyn(dyn(%s).%s(dyn(%s))))", a, name, b), fmt.Sprintf("string(dyn(dyn(%s).%s(dyn(%s), dyn(%s))))", a, name, b, b))
		}
	}
	event, failed := canaryEvent(), 0
	for _, text := range texts {
		e, err := compileExpression(envs.render, text, wantAny)
		if err != nil {
			continue // no function takes these arguments
		}
		if _, err = e.evalText(newEventScope(t.Context(), event)); err != nil {
			failed++
			requireNoValues(t, err, text)
		}
	}
	require.Greater(t, failed, 1000)
}

func TestErrorsOfTemplatesHaveNoValues(t *testing.T) {
	t.Parallel()
	values := []string{".body.text", ".body.number", ".body.list", ".body.map", ".body.none", ".headers", ".event", `"%.2f"`, "3"}
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	failed := 0
	for _, function := range []string{"and", "call", "html", "index", "slice", "js", "len", "not", "print", "printf", "urlquery", "eq", "lt", "ge"} {
		for _, a := range values {
			for _, b := range values {
				for _, text := range []string{
					fmt.Sprintf("{{ %s %s }}", function, a), fmt.Sprintf("{{ %s %s %s }}", function, a, b), fmt.Sprintf("{{ (%s %s).canaries %s }}", function, a, b),
				} {
					for _, message := range []EmailMessage{
						{Recipient: "'a@example.com'", Subject: "s", Text: text}, {Recipient: "'a@example.com'", Subject: "s", HTML: "<a href='" + text + "'>"},
					} {
						compiles := true // false if the template cannot be parsed
						compiled := compileEmail(envs.render, &message, func(string, string, error) { compiles = false })
						if !compiles {
							continue
						}
						if _, err := compiled.build(newEventScope(t.Context(), canaryEvent())); err != nil {
							failed++
							requireNoValues(t, errors.New(strings.ReplaceAll(err.Error(), "canaries", "")), text)
						}
					}
				}
			}
		}
	}
	require.Greater(t, failed, 100)
}

// Errors of routes contain no event value that the route uses.
func TestErrorsOfRoutesHaveNoValues(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Route{
		"url":       {HTTP: &HTTPRequest{URL: "body.url"}},
		"url text":  {HTTP: &HTTPRequest{URL: "body.text"}},
		"header":    {HTTP: &HTTPRequest{Headers: map[string]string{"X-A": "body.mail"}}},
		"body":      {HTTP: &HTTPRequest{Body: "{body.none: body.text}"}},
		"key":       {Key: "body.double"},
		"recipient": {To: "mail", Email: &EmailMessage{Recipient: "body.mail", Subject: "s", Text: "t"}},
		"format":    {To: "mail", Email: &EmailMessage{Recipient: "'a@example.com'", Subject: "s", Text: `{{ printf "%.2f" .body.number }}`}},
		"value":     {To: "mail", Email: &EmailMessage{Recipient: "'a@example.com'", Values: map[string]string{"sum": "money(body.number, body.text)"}, Subject: "s", Text: "t"}},
		"zone":      {To: "mail", Email: &EmailMessage{Recipient: "'a@example.com'", Values: map[string]string{"at": "date(event.received_at, '2', body.text)"}, Subject: "s", Text: "t"}},
	} {
		r.Name, r.From = "r", []string{"shop"}
		if r.To == "" {
			r.To = "app"
		}
		table := compiled(t, Options{Routes: []Route{r}, ConfigHash: "test"})
		effects, err := table.Plan(t.Context(), canaryEvent())
		require.NoError(t, err)
		require.NotEmpty(t, effects[0].Parked, name)
		requireNoValues(t, errors.New(effects[0].Parked), name)
	}
}
