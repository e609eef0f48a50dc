package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// RefetchAuthDestination in Refetch.Auth reads with the credentials of the
// route's destination.
const RefetchAuthDestination = "destination"

// Refetch reads the current state of an object, because what an event says of
// it may be old by the time its effect starts. It is read for the first
// attempt, before the effect is rendered; what was rendered stays (I7). While
// it cannot be read, attempts end as not applied and are repeated.
type Refetch struct {
	// URL is CEL over event, body and headers: where a GET answers 200 with
	// JSON of at most 1 MiB. Required.
	URL string
	// Auth is RefetchAuthDestination, or empty: without credentials, or with
	// Bearer.
	Auth string
	// Bearer is sent as "Authorization: Bearer ...". It needs a URL that begins
	// with a literal scheme, host and slash, and goes nowhere else.
	Bearer secret.Value
	// AllowPrivate are the prefixes of non-global addresses that may be
	// reached, besides the literal address or localhost that URL begins with.
	AllowPrivate []netip.Prefix
}

// refetch is a Refetch, compiled.
type refetch struct {
	url  *expression
	from destination.StateReader
}

func compileRefetch(env *cel.Env, r Route, to destination.Sender, fail failFunc) *refetch {
	compiled := &refetch{}
	switch {
	case r.SQL != nil:
		fail("refetch", "", errors.New("does not go with sql: a transaction does not wait for somebody else's API"))
	case r.HTTP == nil && r.Email == nil:
		fail("refetch", "", errors.New("means nothing for a forward, which sends the event as it came"))
	}
	if r.Refetch.URL == "" {
		fail("refetch.url", "", errors.New("is required"))
		return compiled
	}
	url, err := compileExpression(env, r.Refetch.URL, wantText)
	if err != nil {
		fail("refetch.url", r.Refetch.URL, err)
		return compiled
	}
	compiled.url = url
	switch r.Refetch.Auth {
	case "":
	case RefetchAuthDestination:
		from, ok := to.(destination.StateReader)
		if !ok {
			fail("refetch.auth", "", fmt.Errorf("is %s, but destination %q of kind %s has no credentials for it", RefetchAuthDestination, r.To, to.Kind()))
		}
		if !r.Refetch.Bearer.IsZero() {
			fail("refetch.bearer", "", errors.New("and auth exclude each other"))
		}
		compiled.from = from
		return compiled
	default:
		fail("refetch.auth", "", fmt.Errorf("is %q, it must be %s or empty", r.Refetch.Auth, RefetchAuthDestination))
	}
	origin, err := literalOrigin(env, r.Refetch.URL)
	if err != nil && !r.Refetch.Bearer.IsZero() {
		fail("refetch.url", r.Refetch.URL, fmt.Errorf("%w: the bearer goes there only", err))
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

// literalOrigin is the origin that every value of an expression begins with:
// its first operand is a literal with all of it.
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

// read puts the current state into the scope, or says what came of the attempt.
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
		host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), "/")
		return &destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: fmt.Errorf("refetch: %s answered no JSON", host)}
	}
	scope.current = current
	return nil
}
