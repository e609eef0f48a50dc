package config

import (
	"errors"
	"slices"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

func (s Source) check(d *decoder, sourceName string) {
	at := join("sources", sourceName)
	d.name(at, sourceName)
	if s.MaxBody < 0 {
		d.reportf(at+".max_body", "%s is less than nothing", s.MaxBody)
	}
	d.webURL(at+".public_url", s.PublicURL)
	if len(s.Secrets) == 0 && s.SecretsFile == "" {
		d.missingf(at, "secrets", "has no secret; give secrets or secrets_file")
	}
	known := provider.Names()
	switch {
	case s.Provider == "":
		d.missingf(at, "provider", "has no provider; allowed: %s", list(known))
		return
	case !slices.Contains(known, s.Provider):
		d.among(at+".provider", "provider", s.Provider, known)
		return
	}
	p, err := provider.New(s.Provider, s.Options)
	if err != nil {
		d.optionProblem(at, err)
		return
	}
	if p.CheckSecret == nil {
		return
	}
	for i, value := range s.Secrets {
		path := d.element(at+".secrets", i)
		if s.SecretsFile != "" {
			path = at + ".secrets_file"
		}
		if value.IsZero() {
			continue // reported when it was read
		}
		if err := p.CheckSecret(value); err != nil {
			d.reportf(path, "cannot be used by provider %s: %s", s.Provider, err)
		}
	}
}

// optionProblem reports what a provider says about its options.
func (d *decoder) optionProblem(at string, err error) {
	option, ok := errors.AsType[*provider.OptionError](err)
	if !ok {
		d.reportf(at, "%s", err)
		return
	}
	given := d.show(join(at, option.Field), option.Value)
	if option.Value == "" {
		given = "nothing"
	}
	d.reportf(join(at, option.Field), "%s is not allowed; %s", given, option.Allowed)
}
