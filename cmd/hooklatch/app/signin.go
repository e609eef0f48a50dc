package app

import (
	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/signin"
)

// makeSignIn makes what finds out who asks the admin listener.
func (a *App) makeSignIn() *signin.Guard {
	return signin.New(signin.Options{Tokens: tokensOf(a.opts.Config.Admin), Logger: a.opts.Logger})
}

// tokensOf are the tokens of a configuration. Whoever has the one without a name may do
// everything.
func tokensOf(cfg config.Admin) []signin.Token {
	tokens := []signin.Token{{Role: signin.Admin, Secret: cfg.Token}}
	for _, one := range cfg.Tokens {
		tokens = append(tokens, signin.Token{Name: one.Name, Role: signin.Role(one.Role), Secret: one.Token})
	}
	return tokens
}
