package signin

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// flowFor is the maximum time for a user to sign in at the provider.
	flowFor = 10 * time.Minute
	// providerTimeout is the timeout of one request to the provider.
	providerTimeout = 10 * time.Second
)

// OIDC is an OpenID Connect provider at which users sign in.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret secret.Value
	Scopes       []string
}

// relyingParty signs users in through a provider. It does not query the provider before a user
// signs in, so that the process starts even if the provider is unavailable.
type relyingParty struct {
	opts   OIDC
	back   string // URL to which the provider redirects
	client *http.Client
	secret atomic.Pointer[secret.Value] // current secret

	found discovery
	used  usedFlows
	asks  *questions
}

func newRelyingParty(opts OIDC, consoleURL *url.URL, now func() time.Time) (*relyingParty, error) {
	if consoleURL == nil {
		return nil, errors.New("OIDC needs the URL of the console, to which the provider redirects")
	}
	p := &relyingParty{opts: opts, back: consoleURL.JoinPath("auth", "callback").String(), client: &http.Client{
		Timeout:   providerTimeout,
		Transport: roundtrip.Bounded(&http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}), // requests to the provider are rare
	}}
	p.secret.Store(&opts.ClientSecret)
	p.found.now, p.used.now, p.asks = now, now, newQuestions(now)
	return p, nil
}

// host returns the provider's host, for texts.
func (p *relyingParty) host() string {
	if u, err := url.Parse(p.opts.Issuer); err == nil && u.Host != "" {
		return u.Host
	}
	return p.opts.Issuer
}

// discover returns the provider, and the OAuth 2.0 configuration for its endpoints. It queries the
// provider only until a query has succeeded. For discoverAgain after a failure, it returns the same
// error without a query.
func (p *relyingParty) discover(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	found, err := p.found.get(ctx, p.opts.Issuer)
	if err != nil {
		return nil, nil, fmt.Errorf("get the endpoints of %s: %w", p.host(), err)
	}
	return found.Provider, &oauth2.Config{
		ClientID: p.opts.ClientID, ClientSecret: p.secret.Load().Reveal(), RedirectURL: p.back, Endpoint: found.endpoint, Scopes: p.opts.Scopes,
	}, nil
}

// claimsOf exchanges the provider's code for the user's claims. Errors are for the log and contain
// no token.
func (p *relyingParty) claimsOf(ctx context.Context, code string, of flow) (map[string]any, error) {
	provider, config, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(of.Verifier))
	if err != nil {
		if answer, is := errors.AsType[*oauth2.RetrieveError](err); is {
			return nil, fmt.Errorf("exchange the code: %s answered %s %s", p.host(), answer.Response.Status, answer.ErrorCode)
		}
		return nil, fmt.Errorf("exchange the code: %w", err)
	}
	raw, is := token.Extra("id_token").(string)
	if !is {
		return nil, fmt.Errorf("%s returned no id_token", p.host())
	}
	verified, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.opts.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("verify id_token: %w", err)
	}
	if !hmac.Equal([]byte(verified.Nonce), []byte(of.Nonce)) {
		return nil, errors.New("verify id_token: its nonce does not belong to this sign-in")
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	// OpenID Connect Core 1.0, 3.1.3.7: the azp claim, if present, must be this client.
	if party, said := claims["azp"]; said && party != p.opts.ClientID {
		return nil, errors.New("verify id_token: it was issued to another party (azp)")
	}
	return tidied(claims), nil
}

// tidied prepares claims for conditions: an email address that the provider marks as unverified is
// removed, and a single group becomes a list.
func tidied(claims map[string]any) map[string]any {
	// Amazon Cognito and Apple send email_verified as a string.
	if verified, said := claims["email_verified"]; said && verified != true && verified != "true" {
		delete(claims, "email")
	}
	if one, is := claims["groups"].(string); is {
		claims["groups"] = []any{one}
	}
	return claims
}

// personOf returns the first usable name among a user's claims, or Nameless.
func personOf(claims map[string]any) string {
	for _, claim := range []string{"email", "preferred_username", "sub"} {
		if text, is := claims[claim].(string); is && nameOf(text) != Nameless {
			return nameOf(text)
		}
	}
	return Nameless
}

// startOIDC redirects a browser to the provider.
func (g *Guard) startOIDC(w http.ResponseWriter, r *http.Request) {
	next := Local(r.URL.Query().Get("next"))
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), g.oidc.client), providerTimeout)
	defer cancel()
	_, config, err := g.oidc.discover(ctx)
	if err != nil {
		g.providerFails(w, r, err, next)
		return
	}
	begun := flow{State: newCookie(), Nonce: newCookie(), Verifier: oauth2.GenerateVerifier(), Next: next, Begun: g.opts.Now().Unix()}
	g.setFlow(w, begun.seal(g.oidc.flowKey()), int(flowFor.Seconds()))
	http.Redirect(w, r, config.AuthCodeURL(begun.State, oidc.Nonce(begun.Nonce), oauth2.S256ChallengeOption(begun.Verifier)), http.StatusSeeOther)
}

// endOIDC handles the redirect back from the provider.
func (g *Guard) endOIDC(w http.ResponseWriter, r *http.Request) {
	begun, ok := g.flowOf(r)
	next, refused := Local(begun.Next), r.URL.Query().Get("error")
	if ok && refused == "" && !g.oidc.asks.allow(r.RemoteAddr, g.knowsBrowser(r)) {
		w.Header().Set("Retry-After", "10") // the flow stays, so that the browser can repeat the request
		g.show(w, r, Page{Status: http.StatusTooManyRequests, Next: next, Wrong: "Too many users are signing in, or too many requests come from this address. Reload this page in a moment."})
		return
	}
	g.setFlow(w, "", -1)
	if !ok {
		g.refuseFlow(w, r)
		return
	}
	if refused != "" {
		g.show(w, r, Page{Status: http.StatusForbidden, Next: next, Wrong: g.oidc.host() + " refused: " + refused[:min(len(refused), 100)] + "."})
		return
	}
	if !g.oidc.used.add(begun) { // another request with this flow came at the same time
		g.refuseFlow(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), g.oidc.client), providerTimeout)
	defer cancel()
	claims, err := g.oidc.claimsOf(ctx, r.URL.Query().Get("code"), begun)
	if err != nil {
		g.providerFails(w, r, err, next)
		return
	}
	g.oidc.asks.proven(r.RemoteAddr)
	person := Person{Name: personOf(claims), Role: g.conditions.roleOf(claims), Way: WayOIDC}
	if person.Role == "" {
		g.refuseRoleless(w, r, person)
		return
	}
	g.noteBrowser(w)
	g.begin(w, r, person, "", g.oidcBasis(), next)
}

func (g *Guard) refuseFlow(w http.ResponseWriter, r *http.Request) {
	g.show(w, r, Page{Status: http.StatusBadRequest, Next: "/", Wrong: "This sign-in was not started in this browser, or it was started too long ago. Start again."})
}

// oidcBasis returns the basis of a login through a provider: the client secret, and the configured
// provider and roles. The login ends if any of them changes.
func (g *Guard) oidcBasis() string {
	return strings.Join([]string{g.oidc.opts.Issuer, g.oidc.opts.ClientID, g.oidc.secret.Load().Reveal(), g.opts.Roles.text()}, "\x00")
}

// refuseRoleless responds to an authenticated user without a role.
func (g *Guard) refuseRoleless(w http.ResponseWriter, r *http.Request, p Person) {
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "an authenticated user has no role in the console",
		slog.String(logkey.Person, p.Name), slog.String(logkey.Way, string(p.Way)), slog.String(logkey.Remote, r.RemoteAddr))
	if !isBrowser(r) || g.opts.Page == nil {
		refuse(w, http.StatusForbidden, p.Name+" has no role here: admin.auth.roles in the configuration grants none")
		return
	}
	g.show(w, r, Page{Status: http.StatusForbidden, Next: "/", Wrong: "You are " + p.Name + " and have no role here. The operator who maintains the configuration can grant you one with admin.auth.roles."})
}

// providerFails responds to a sign-in that failed at the provider, or for an unknown reason.
func (g *Guard) providerFails(w http.ResponseWriter, r *http.Request, err error, next string) {
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "sign-in by OIDC failed", slog.Any(logkey.Err, err), slog.String(logkey.Remote, r.RemoteAddr))
	g.show(w, r, Page{
		Status: http.StatusBadGateway, Next: next,
		Wrong: "Signing in at " + g.oidc.host() + " failed: it does not answer, or its answer is not valid. The log has the cause. Try again. Events are accepted meanwhile.",
	})
}
