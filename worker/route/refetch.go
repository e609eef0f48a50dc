package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// RefetchAuthDestination is a value of Refetch.Auth: the refetch uses the credentials of the
// route's destination.
const RefetchAuthDestination = "destination"

// Refetch reads the current state of an object, because the event's data may be old by the time
// its effect starts. The state is read for the first attempt, before the effect is rendered;
// the rendered request does not change (I7). While reading fails, attempts end as not applied
// and are repeated.
type Refetch struct {
	// CEL expression that returns the URL, from event, body and headers. The response must be JSON
	// of at most 1 MiB. Required.
	URL string `yaml:"url,omitempty"`
	// destination reads with the credentials of the route's destination, if the URL leads there.
	// Defaults to none: only bearer is sent, if it is set.
	Auth string `yaml:"auth,omitempty"`
	// Token that the request carries in the header Authorization (RFC 6750). The token requires a
	// url that begins with a literal like "https://api.example.com/", and is sent only to that
	// origin.
	Bearer secret.Value `yaml:"bearer,omitempty"`
	// AllowPrivate are the prefixes of non-global addresses that may be reached, in addition to a
	// literal address or localhost at the beginning of URL.
	AllowPrivate []netip.Prefix `yaml:"-"`
}

func (f *Refetch) validate(r Route) error {
	if f == nil {
		return nil
	}
	var c option.Check
	switch {
	case r.SQL != nil:
		c.Failf("", nil, "cannot be combined with sql: a transaction does not wait for an external API")
	case r.HTTP == nil && r.Message == nil && r.Email == nil:
		c.Failf("", nil, "has no effect on a forward, which sends the event as received")
	}
	if f.URL == "" {
		c.Missing("url", "has no url")
	}
	if f.Auth != "" {
		c.OneOf("auth", "way to authenticate", f.Auth, RefetchAuthDestination)
		if !f.Bearer.IsZero() {
			c.Failf("auth", nil, "at most one of auth and bearer may be given")
		}
	}
	return c.Err()
}

// refetch is a compiled Refetch.
type refetch struct {
	url  *expression
	from destination.StateReader
}

func compileRefetch(env *cel.Env, r Route, to destination.Sender, fail failFunc) *refetch {
	compiled := &refetch{}
	if r.Refetch.URL == "" {
		return compiled // already reported as a fault
	}
	url, err := compileExpression(env, r.Refetch.URL, wantText)
	if err != nil {
		fail("refetch.url", r.Refetch.URL, err)
		return compiled
	}
	compiled.url = url
	if r.Refetch.Auth == RefetchAuthDestination {
		from, ok := to.(destination.StateReader)
		if !ok {
			fail("refetch.auth", "", fmt.Errorf("is %s, but destination %q of kind %s has no credentials for it", RefetchAuthDestination, r.To, to.Kind()))
		}
		compiled.from = from
		return compiled
	}
	origin, err := literalOrigin(env, r.Refetch.URL)
	if err != nil && !r.Refetch.Bearer.IsZero() {
		fail("refetch.url", r.Refetch.URL, fmt.Errorf("%w: the bearer is sent only there", err))
		return compiled
	}
	compiled.from, err = destination.NewFetcher(destination.FetchOptions{
		Origin: origin, Bearer: r.Refetch.Bearer, AllowPrivate: r.Refetch.AllowPrivate,
	})
	if err != nil {
		fail("refetch", "", err)
	}
	return compiled
}

// literalOrigin returns the origin that all URLs from an expression share. The first operand of the
// expression must be a literal that contains the whole origin.
func literalOrigin(env *cel.Env, text string) (string, error) {
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return "", issues.Err()
	}
	first := parsed.NativeRep().Expr()
	for first.Kind() == ast.CallKind && first.AsCall().FunctionName() == operators.Add && len(first.AsCall().Args()) == 2 {
		first = first.AsCall().Args()[0]
	}
	literal := ""
	if first.Kind() == ast.LiteralKind {
		if s, ok := first.AsLiteral().(types.String); ok {
			literal = string(s)
		}
	}
	return destination.OriginOf(literal)
}

// read stores the current state in the scope. If the state cannot be read, read returns the
// attempt's outcome.
func (r *refetch) read(ctx context.Context, scope *eventScope) *destination.Outcome {
	url, err := r.url.evalText(scope)
	if err == nil {
		err = checkURL(url)
	}
	if isInterrupted(err) {
		return &destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: fmt.Errorf("refetch.url: %w", err)}
	}
	if err != nil {
		return needsPerson(fmt.Errorf("refetch.url: %w", err))
	}
	body, failed := r.from.Fetch(ctx, url)
	if failed != nil {
		return failed
	}
	current, err := parseJSON(body)
	if err != nil {
		return &destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: errors.New("refetch: the answer is not JSON")}
	}
	scope.current = current
	return nil
}
