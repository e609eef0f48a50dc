package config

import (
	"errors"
	"slices"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func (s Source) check(d *decoder, sourceName, publicURL string) {
	at := join("sources", sourceName)
	var c option.Check
	c.Name("", sourceName)
	if s.PublicURL != "" {
		c.URL("public_url", s.PublicURL)
	}
	if s.MaxBody < 0 {
		d.reportf(at+".max_body", "%s is negative; give a size above 0, or leave it out", s.MaxBody)
	}
	d.among(at+".replay_guard", "replay guard", s.ReplayGuard, replayGuards)
	d.among(d.dedupPath(at), "dedup rule", s.Dedup.Rule, dedups)
	d.among(at+".quarantine", "quarantine setting", s.Quarantine, quarantines)
	if s.Gzip != "" {
		d.among(at+".gzip", "gzip setting", s.Gzip, gzips)
	}
	if _, given := d.origin.lines[at+".dedup_window"]; given {
		c.Positive("dedup_window", s.DedupWindow)
		if s.Dedup.Rule == DedupID {
			d.reportf(at+".dedup_window", "%s has no effect without dedup: content", FormatDuration(s.DedupWindow))
		}
	}
	d.faults(at, c.Err())
	p := s.checkProvider(d, at)
	s.checkRedaction(d, at, p)
	s.checkSearch(d, at)
	s.checkBackfill(d, at, p)
	if s.Livemode && p != nil && p.TestEvent == nil {
		d.reportf(at+".livemode", "has no effect with provider %s, which does not mark test events; leave it out", s.Provider)
	}
	if len(s.Secrets) == 0 && (p == nil || !p.Keyless) {
		d.missingf(at, "secrets", "has no secret; give secrets or secrets_file")
	}
	var usable func(secret.Value) error
	if p != nil {
		usable = p.CheckSecret
	}
	s.checkSecrets(d, at, usable)
	if p != nil && p.SignsURL && s.PublicURL == "" && publicURL == "" {
		d.missingf(at, "public_url", "%s signs the URL it was given, and any client can set the Host of a request; set under gateway: "+
			"\"public_url: https://hooks.example.com\", with the host that the sender calls, or set public_url of this source", p.Title)
	}
}

func (s Source) checkBackfill(d *decoder, at string, p *provider.Provider) {
	switch {
	case s.Backfill == nil || p == nil:
	case s.Backfill.List == nil:
		d.reportf(at+".backfill", "needs a list: Hooklatch knows no list of provider %s; describe it under `list`, or leave backfill out", s.Provider)
	case s.Dedup.Rule == DedupContent:
		d.reportf(at+".backfill", "cannot be combined with dedup: content: a duplicate by content leaves no event, so a pass would count it as missing and accept it; "+
			"leave one of the two out, or use dedup.ignore")
	default:
		d.faults(at+".backfill", s.Backfill.Validate(s.Retention.Dedup))
	}
	if b := s.Backfill; b != nil && b.Own != nil && b.Own.Headers == "" && len(s.Dedup.Ignore) > 0 && s.Type.Header != "" {
		d.reportf(at+".backfill.list", "has no headers; with dedup.ignore, the type in header %s is part of an event's key: give the JSON pointer to the headers of an item, "+
			"or every listed event counts as missing", s.Type.Header)
	}
}

// dedupPath returns the path of the dedup rule, which the file gives as text or in a mapping.
func (d *decoder) dedupPath(at string) string {
	if _, inside := d.origin.lines[at+".dedup.rule"]; inside {
		return at + ".dedup.rule"
	}
	return at + ".dedup"
}

// allowedProviders replaces the list of providers in messages: the list is too long for one line.
const allowedProviders = "allowed: the names that `hooklatch providers` lists"

func (d *decoder) unknownProvider(path, given string, known []string) {
	guess := ""
	if near, ok := nearest(given, known); ok && d.expanded[path] == "" { // values from the environment are not shown
		guess = "did you mean " + quote(near) + "? "
	}
	if !d.reported(path) {
		d.reportf(path, "%s is not a provider; %s%s", d.show(path, given), guess, allowedProviders)
	}
}

// checkProvider returns the provider of the source, or nil if it has no valid one.
func (s Source) checkProvider(d *decoder, at string) *provider.Provider {
	known := catalog.Names()
	switch {
	case s.Provider == "":
		d.missingf(at, "provider", "has no provider; "+allowedProviders)
		return nil
	case !slices.Contains(known, s.Provider):
		d.unknownProvider(at+".provider", s.Provider, known)
		return nil
	}
	p, err := s.Sender()
	if err != nil {
		d.optionProblem(at, err)
		return nil
	}
	return p
}

// optionProblem reports a provider's error about its options.
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

// among reports a value that is not allowed.
func (d *decoder) among(path, what, given string, allowed []string) {
	if !slices.Contains(allowed, given) && !d.reported(path) {
		d.reportf(path, "%s is not a %s; %s", d.show(path, given), what, d.oneOf(path, given, allowed))
	}
}
