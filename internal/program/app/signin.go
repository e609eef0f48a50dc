package app

import (
	"net/url"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/schema"
)

// makeSignIn creates the guard that authenticates requests to the admin listener.
func (a *App) makeSignIn() (*signin.Guard, error) {
	cfg := a.opts.Config
	logins, err := signin.NewLogins(a.pools.read, schema.Name(cfg.Database.Schema))
	if err != nil {
		return nil, err
	}
	at, err := optionalURL(cfg.Admin.ConsoleURL)
	if err != nil {
		return nil, cfg.Problem("admin.console_url", err.Error())
	}
	opts := signin.Options{
		Tokens: tokensOf(cfg.Admin), Roles: cfg.Admin.Auth.Roles.Conditions(), Logins: logins, Page: a.console.SignInPage,
		ConsoleURL: at, TLS: cfg.Admin.TLS != nil, Logger: a.adminLogger(),
	}
	if oidc := cfg.Admin.Auth.OIDC; oidc != nil {
		opts.OIDC = &signin.OIDC{Issuer: oidc.Issuer, ClientID: oidc.ClientID, ClientSecret: oidc.ClientSecret, Scopes: oidc.Scopes}
	}
	if proxy := cfg.Admin.Auth.Proxy; proxy != nil {
		opts.Proxy = &signin.Proxy{Trusted: proxy.TrustedProxies, User: proxy.User, Groups: proxy.Groups}
	}
	return signin.New(opts)
}

// peopleOf returns the secrets with which a configuration authenticates users and machines.
func peopleOf(cfg config.Admin) signin.Secrets {
	s := signin.Secrets{Tokens: tokensOf(cfg)}
	if cfg.Auth.OIDC != nil {
		s.ClientSecret = cfg.Auth.OIDC.ClientSecret
	}
	return s
}

// Routes returns all routes of the admin listener, with the role that each route requires.
func (a *App) Routes() []signin.Route { return append(a.admin.Routes(), a.console.Routes()...) }

// tokensOf returns the tokens in a configuration. The bearer of the unnamed token has all
// permissions.
func tokensOf(cfg config.Admin) []signin.Token {
	tokens := []signin.Token{{Role: signin.Admin, Secret: cfg.Token}}
	for _, one := range cfg.Tokens {
		tokens = append(tokens, signin.Token{Name: one.Name, Role: signin.Role(one.Role), Secret: one.Token})
	}
	return tokens
}

// signInWarnings returns a warning if users sign in over a connection that attackers can read.
func signInWarnings(cfg *config.Config) []Warning {
	at, err := url.Parse(cfg.Admin.ConsoleURL)
	if err != nil || at.Scheme != "http" || loopback.Is(at.Hostname()) || !cfg.Admin.Asks() {
		return nil
	}
	problem := cfg.Problem("admin.console_url", "is plain HTTP: an attacker on the network could read tokens and session cookies")
	return []Warning{{"console", problem.Error(), "terminate TLS in a proxy or set admin.tls, and use https://"}}
}
