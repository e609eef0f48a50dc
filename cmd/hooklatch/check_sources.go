package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// soon is how long before its end a secret is warned of.
const soon = 7 * 24 * time.Hour

// sources warns of what will refuse deliveries of a source some day.
func (c *checkup) sources(cfg *config.Config, now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		p, err := s.Sender()
		if err != nil {
			continue // a problem of the configuration, which told it
		}
		c.secrets(name, s, p, now)
		if s.OverridesKey(p) {
			c.add(doctor.Warning, "event id", fmt.Sprintf("source %q: its key is not the one that %s documents, which is: %s", name, p.Title, p.About.KeyRule),
				"remove event_id and dedup.ignore of the source, unless the documented key was seen to fail")
		}
		if s.ReplayGuard != config.ReplayOff && p.ReplayToken == nil {
			c.add(doctor.Warning, "replay guard", fmt.Sprintf("source %q: replay_guard has no effect: nothing in a delivery of %s tells a replay from a new event", name, p.Title),
				"remove it, so that no one relies on it")
		}
	}
}

// secrets warns of those of a source that have expired or soon will.
func (c *checkup) secrets(name string, s config.Source, p *provider.Provider, now time.Time) {
	usable, later := 0, 0
	for i, one := range s.Secrets {
		end := one.NotAfter
		if !end.IsZero() && p.OldSecretRetries {
			end = end.Add(p.RetryWindow)
		}
		which := fmt.Sprintf("secret %d of source %q", i+1, name)
		switch {
		case !end.IsZero() && now.After(end):
			c.add(doctor.Warning, "secrets", fmt.Sprintf("%s has expired on %s", which, shown(end)), "remove it from the configuration")
			continue
		case !end.IsZero() && now.Add(soon).After(end):
			c.add(doctor.Warning, "secrets", fmt.Sprintf("%s is accepted until %s only", which, shown(end)),
				"make sure that the sender signs with another one by then, which hooklatch.secrets.matched shows")
		}
		if one.NotBefore.After(now) {
			continue
		}
		usable++
		if end.IsZero() || now.Add(soon).Before(end) {
			later++
		}
	}
	switch {
	case p.Keyless && len(s.Secrets) == 0:
	case usable == 0:
		c.add(doctor.Problem, "secrets", fmt.Sprintf("source %q has no secret that is accepted now: all its deliveries are answered 503", name),
			"give the secret that the sender signs with at present")
	case later == 0 && !followed(s, now):
		c.add(doctor.Warning, "secrets", fmt.Sprintf("source %q has no secret that is accepted in %s: all its deliveries will be answered 503", name, config.FormatDuration(soon)),
			"add the one that follows, or move not_after")
	}
}

// followed reports whether a secret begins to be accepted soon.
func followed(s config.Source, now time.Time) bool {
	return slices.ContainsFunc(s.Secrets, func(one config.Secret) bool {
		return one.NotBefore.After(now) && one.NotBefore.Before(now.Add(soon))
	})
}
