package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// soon is the time before a secret's expiry during which the check command warns.
const soon = 7 * 24 * time.Hour

// sources warns of secrets that expire, of an event key other than the documented one, and of a
// replay guard without effect.
func (c *checkup) sources(cfg *config.Config, now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		p, err := s.Sender()
		if err != nil {
			continue // already reported as a configuration problem
		}
		c.secrets(name, s, p, now)
		if s.OverridesKey(p) {
			c.add(doctor.Warning, "event id", fmt.Sprintf("source %q: its event key differs from the one that %s documents: %s", name, p.Title, p.About.KeyRule),
				"remove event_id and dedup.ignore of the source, unless you have seen the documented key fail")
		}
		if s.ReplayGuard != config.ReplayOff && p.ReplayToken == nil {
			c.add(doctor.Warning, "replay guard", fmt.Sprintf("source %q: replay_guard has no effect: nothing in a delivery of %s distinguishes a replay from a new event", name, p.Title),
				"remove replay_guard, so that no operator relies on it")
		}
	}
}

// secrets warns of a source's secrets that have expired or will expire soon. It also warns of a
// time in the near future at which no secret will be valid. It reports a problem if no secret is
// valid now.
func (c *checkup) secrets(name string, s config.Source, p *provider.Provider, now time.Time) {
	var periods []period
	for i, one := range s.Secrets {
		end := one.NotAfter
		if !end.IsZero() && p.OldSecretRetries {
			end = end.Add(p.RetryWindow)
		}
		which := fmt.Sprintf("secret %d of source %q", i+1, name)
		switch {
		case !end.IsZero() && now.After(end):
			c.add(doctor.Warning, "secrets", fmt.Sprintf("%s expired on %s", which, shown(end)), "remove it from the configuration")
			continue
		case !end.IsZero() && now.Add(soon).After(end):
			c.add(doctor.Warning, "secrets", fmt.Sprintf("%s is accepted only until %s", which, shown(end)),
				"make sure that the sender signs with another secret by then; the metric hooklatch.secrets.matched shows which secret it uses")
		case end.IsZero():
			end = now.Add(2 * soon)
		}
		periods = append(periods, period{one.NotBefore, end})
	}
	covered := coveredUntil(periods, now)
	switch {
	case p.Keyless && len(s.Secrets) == 0:
	case covered.Equal(now):
		c.add(doctor.Problem, "secrets", fmt.Sprintf("source %q has no secret that is valid now: all its deliveries are answered with 503", name),
			"add the secret that the sender signs with now")
	case !covered.After(now.Add(soon)):
		c.add(doctor.Warning, "secrets", fmt.Sprintf("source %q has no secret that is valid after %s: all its deliveries will then be answered with 503", name, shown(covered)),
			"add the next secret, or extend not_after")
	}
}

// period is the time in which a secret is valid. If begin is zero, the secret is valid at every
// time before end.
type period struct{ begin, end time.Time }

// coveredUntil returns the end of the time, beginning now, in which some secret is always valid. It
// returns now if no secret is valid now.
func coveredUntil(periods []period, now time.Time) time.Time {
	slices.SortFunc(periods, func(a, b period) int { return a.begin.Compare(b.begin) })
	covered := now
	for _, one := range periods {
		if !one.begin.After(covered) && one.end.After(covered) {
			covered = one.end
		}
	}
	return covered
}
