package backfill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/internal/wildcard"
)

// maxWhy limits the stored explanation of our endpoint's state, in bytes.
const maxWhy = 400

// checkEndpoint checks that the endpoint sends to this gateway, records whether it is enabled, and
// finds out which types it receives. If the token cannot read the endpoint, the token may belong to
// another account: the pass fails and stores nothing.
func (p *pass) checkEndpoint(ctx context.Context) error {
	facts := p.list.Check
	if facts == nil {
		return nil
	}
	address := p.expand(facts.Path, query{}, "")
	if alias := facts.Aliases[p.source.Settings.Endpoint]; alias != "" {
		address = alias
	}
	a, err := p.call(withoutAccount(ctx), http.MethodGet, address)
	if err != nil {
		return err
	}
	at := func(path string) string {
		if path == "" {
			return ""
		}
		return a.body.Get(path).String()
	}
	state, why := coverage.EndpointUnknown, ""
	if on := at(facts.On); on != "" {
		state = coverage.EndpointOff
		if slices.Contains(facts.OnIs, on) {
			state = coverage.EndpointOn
		} else {
			why = facts.On[strings.LastIndexByte(facts.On, '.')+1:] + ": " + on
		}
	}
	if until := at(facts.Until); until != "" {
		why += " until " + until
	}
	if said := at(facts.Why); said != "" && state == coverage.EndpointOff {
		why += " (" + said + ")"
	}
	if state == coverage.EndpointOff {
		why += ". " + facts.WhoTurnsOff
	}
	to := at(facts.URL)
	if !sameEndpoint(to, p.source.URL) {
		state, why = coverage.EndpointForeign, "it sends to "+hostAndPath(to)+" instead of "+hostAndPath(p.source.URL)
	}
	if !p.dry() {
		if err := p.coverage().NoteEndpoint(ctx, p.row.Stream, state, safetext.Excerpt(strings.TrimSpace(why), maxWhy)); err != nil {
			return err
		}
	}
	if state == coverage.EndpointForeign {
		return fmt.Errorf("the configured endpoint does not send to this gateway: %s", why)
	}
	p.version = at(facts.Version)
	if facts.Types != "" {
		for _, one := range a.body.Get(facts.Types).Array() {
			p.endpointTypes = append(p.endpointTypes, one.String())
		}
	}
	return nil
}

// sameEndpoint reports whether the provider sends to our URL. It returns true if one of the
// URLs is unknown.
func sameEndpoint(theirs, ours string) bool {
	return theirs == "" || ours == "" || strings.EqualFold(hostAndPath(theirs), hostAndPath(ours))
}

// hostAndPath removes the parts of a URL that may be secret.
func hostAndPath(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an invalid URL"
	}
	return u.Host + strings.TrimSuffix(u.Path, "/")
}

// chooseTypes selects the types to recover. An account's list also shows events of types to which
// our endpoint is not subscribed.
func (p *pass) chooseTypes() error {
	ofEndpoint := p.endpointTypes
	if strings.Contains(p.list.Path, "{endpoint}") {
		ofEndpoint = []string{"*"} // the list contains only this endpoint's events
	}
	for _, types := range [][]string{p.order.Types, p.source.Settings.Types, ofEndpoint} {
		if len(types) > 0 {
			p.types = types
			return nil
		}
	}
	if p.list.Check == nil {
		p.types = []string{"*"}
		return nil
	}
	return errors.New("the token cannot read any type that the endpoint is subscribed to; list the types to fetch in `types`")
}

func (p *pass) wants(eventType string) bool {
	return slices.ContainsFunc(p.types, func(pattern string) bool { return wildcard.Match(pattern, eventType) })
}

type accountKey struct{}

// withoutAccount marks requests for objects that belong to the credential's owner. These requests
// do not name an account.
func withoutAccount(ctx context.Context) context.Context {
	return context.WithValue(ctx, accountKey{}, true)
}
