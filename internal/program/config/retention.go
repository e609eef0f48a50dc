package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// Retention configures how long data is kept.
type Retention struct {
	// Time for which an event is remembered, so that a duplicate is recognised: at least as long as
	// its provider can send it again. Defaults to 90d, or the provider's floor if that is longer.
	Dedup time.Duration `yaml:"dedup,omitempty"`
	// Time for which headers and bodies of deliveries are kept, at most as long as the events.
	// Defaults to 30d, or dedup if that is shorter.
	Payloads time.Duration `yaml:"payloads,omitempty"`
	// Time for which finished effects are kept, with their attempts, links, transitions and
	// replays, and the versions that latest_by records. It must be at least 30d longer than events
	// are kept, because the effects' keys prevent a replay from applying them again. Defaults to
	// the longest dedup plus 30d.
	History time.Duration `yaml:"history,omitempty"`
	// Time for which operator actions are kept. Defaults to 400d.
	Audit time.Duration `yaml:"audit,omitempty"`
	// Place to which each day of deliveries is exported before it is deleted. Exported events can
	// still be shown, replayed and erased. Without this setting, deliveries are deleted without an
	// export.
	Export *Export `yaml:"export,omitempty"`
}

// Export configures the place to which days are exported.
type Export struct {
	// Absolute path of a directory that all workers share, such as a mounted volume.
	Directory string `yaml:"directory,omitempty"`
}

// SourceRetention configures how long the events of a source are remembered.
type SourceRetention struct {
	// Time for which an event of this source is remembered. Defaults to retention.dedup.
	Dedup time.Duration `yaml:"dedup,omitempty"`
}

// fillInRetention sets the default retention periods, for every source and globally, and the
// defaults that depend on them.
func (c *Config) fillInRetention() {
	global := c.Retention.Dedup
	for name, s := range c.Sources {
		if s.Retention.Dedup == 0 {
			s.Retention.Dedup = global
		}
		if s.Retention.Dedup == 0 {
			s.Retention.Dedup = retention.DefaultDedup
			if p, err := s.Sender(); err == nil {
				s.Retention.Dedup = max(retention.DefaultDedup, p.Floor())
			}
		}
		if len(s.Redact) > 0 && s.RedactAfter == 0 {
			s.RedactAfter = min(defaultRedactAfter, s.Retention.Dedup/2)
		}
		c.Sources[name] = s
	}
	if c.Retention.Dedup == 0 {
		c.Retention.Dedup = retention.DefaultDedup
	}
	if c.Retention.Payloads == 0 {
		c.Retention.Payloads = retention.DefaultPayloads
		if c.Retention.Dedup > 0 {
			c.Retention.Payloads = min(retention.DefaultPayloads, c.Retention.Dedup)
		}
	}
	if c.Retention.History == 0 {
		_, longest := c.longestDedup()
		c.Retention.History = longest + retention.BeyondDedup
	}
	if c.Retention.Audit == 0 {
		c.Retention.Audit = retention.DefaultAudit
	}
}

// longestDedup returns the longest dedup setting and its path.
func (c *Config) longestDedup() (path string, longest time.Duration) {
	path, longest = dedupField, c.Retention.Dedup
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if dedup := c.Sources[name].Retention.Dedup; dedup > longest {
			path, longest = join("sources", name)+"."+dedupField, dedup
		}
	}
	return path, longest
}

// shortestDedup returns the shortest dedup setting and its path.
func (c *Config) shortestDedup() (path string, shortest time.Duration) {
	path, shortest = dedupField, c.Retention.Dedup
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if dedup := c.Sources[name].Retention.Dedup; dedup < shortest {
			path, shortest = join("sources", name)+"."+dedupField, dedup
		}
	}
	return path, shortest
}

const (
	dedupField    = "retention.dedup"
	payloadsField = "retention.payloads"
	historyField  = "retention.history"
	auditField    = "retention.audit"
	exportField   = "retention.export"
)

func (c *Config) checkRetention(d *decoder) {
	var check option.Check
	check.Positive(dedupField, c.Retention.Dedup)
	check.Positive(payloadsField, c.Retention.Payloads)
	check.Positive(historyField, c.Retention.History)
	check.Positive(auditField, c.Retention.Audit)
	d.faults("", check.Err())
	if c.Retention.Payloads > c.Retention.Dedup && c.Retention.Dedup > 0 {
		d.reportf(payloadsField, "%s is longer than %s, %s; it must not be longer, because a body without its event is useless",
			FormatDuration(c.Retention.Payloads), dedupField, FormatDuration(c.Retention.Dedup))
	}
	c.checkExport(d)
	if path, longest := c.longestDedup(); c.Retention.History > 0 && c.Retention.History < longest+retention.BeyondDedup {
		d.reportf(historyField, "%s is too short for %s, %s; allowed: at least %s, because effect keys must outlive events by %s",
			FormatDuration(c.Retention.History), path, FormatDuration(longest), FormatDuration(longest+retention.BeyondDedup), FormatDuration(retention.BeyondDedup))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		c.checkSourceRetention(d, name)
	}
}

// beforeExport is the minimum by which each dedup setting must exceed retention.payloads, so that a
// day is exported with its events.
const beforeExport = 2 * retention.Day

func (c *Config) checkExport(d *decoder) {
	x := c.Retention.Export
	if x == nil {
		return
	}
	switch {
	case x.Directory == "":
		d.missingf(exportField, "directory", "has no directory")
	case !filepath.IsAbs(x.Directory):
		d.reportf(exportField+".directory", "%s is relative; give an absolute path", d.show(exportField+".directory", x.Directory))
	}
	path, shortest := dedupField, c.Retention.Dedup
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if dedup := c.Sources[name].Retention.Dedup; dedup < shortest {
			path, shortest = join("sources", name)+"."+dedupField, dedup
		}
	}
	if shortest > 0 && c.Retention.Payloads > 0 && shortest < c.Retention.Payloads+beforeExport {
		d.reportf(exportField, "%s, %s, is too short for %s, %s; allowed: at least %s more, so that a day is exported with its events",
			path, FormatDuration(shortest), payloadsField, FormatDuration(c.Retention.Payloads), FormatDuration(beforeExport))
	}
}

func (c *Config) checkSourceRetention(d *decoder, name string) {
	own := join("sources", name) + "." + dedupField
	s := c.Sources[name]
	_, hasOwn := d.origin.lines[own]
	_, hasGlobal := d.origin.lines[dedupField]
	if d.reported(own) {
		return
	}
	if hasOwn {
		var check option.Check
		check.Positive(own, s.Retention.Dedup)
		d.faults("", check.Err())
		if s.Retention.Dedup > 0 && s.Retention.Dedup < c.Retention.Payloads {
			d.reportf(own, "%s is shorter than %s, %s; it must not be shorter, because a body without its event is useless",
				FormatDuration(s.Retention.Dedup), payloadsField, FormatDuration(c.Retention.Payloads))
		}
	}
	p, err := s.Sender()
	if err != nil || s.Retention.Dedup <= 0 || s.Retention.Dedup >= p.Floor() {
		return
	}
	switch {
	case hasOwn:
		d.reportf(own, "%s is below the floor of %s of provider %s (%s)",
			FormatDuration(s.Retention.Dedup), FormatDuration(p.Floor()), p.Name, WhyFloor(p))
	case hasGlobal:
		d.reportf(dedupField, "%s is below the floor of %s of source %s, provider %s (%s); raise it, or set %s",
			FormatDuration(s.Retention.Dedup), FormatDuration(p.Floor()), name, p.Name, WhyFloor(p), own)
	}
}

// WhyFloor explains the shortest dedup that a provider allows, such as "2 x 3d of retries".
func WhyFloor(p *provider.Provider) string {
	var parts []string
	if p.RetryWindow > 0 {
		parts = append(parts, "2 x "+FormatDuration(p.RetryWindow)+" of retries")
	}
	if p.ResendWindow > 0 {
		parts = append(parts, FormatDuration(p.ResendWindow)+" of manual resends")
	}
	if len(parts) == 0 || p.Floor() > max(2*p.RetryWindow, p.ResendWindow) {
		parts = append(parts, "never less than "+FormatDuration(p.Floor()))
	}
	return strings.Join(parts, ", ")
}
