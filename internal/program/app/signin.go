package app

import (
	"net/url"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/schema"
)

// makeSignIn makes what finds out who asks the admin listener.
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

// peopleOf are what a configuration knows people and machines by.
func peopleOf(cfg config.Admin) signin.Secrets {
	s := signin.Secrets{Tokens: tokensOf(cfg)}
	if cfg.Auth.OIDC != nil {
		s.ClientSecret = cfg.Auth.OIDC.ClientSecret
	}
	return s
}

// Routes are all addresses of the admin listener, with who may ask for them.
func (a *App) Routes() []signin.Route { return append(a.admin.Routes(), a.console.Routes()...) }

// tokensOf are the tokens of a configuration. Whoever has the one without a name may do
// everything.
func tokensOf(cfg config.Admin) []signin.Token {
	tokens := []signin.Token{{Role: signin.Admin, Secret: cfg.Token}}
	for _, one := range cfg.Tokens {
		tokens = append(tokens, signin.Token{Name: one.Name, Role: signin.Role(one.Role), Secret: one.Token})
	}
	return tokens
}

// signInWarnings are for people who sign in where others can read what they send.
func signInWarnings(cfg *config.Config) []Warning {
	at, err := url.Parse(cfg.Admin.ConsoleURL)
	if err != nil || at.Scheme != "http" || loopback.Is(at.Hostname()) || !cfg.Admin.Asks() {
		return nil
	}
	problem := cfg.Problem("admin.console_url", "is plain HTTP: somebody between could read tokens, and the cookies of those who are signed in")
	return []Warning{{"console", problem.Error(), "put TLS before it, or set admin.tls, and write https://"}}
}
