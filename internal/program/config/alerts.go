package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// Alerts say who is told what needs a person. A worker tells it; that none runs is told
// by the heartbeat that stays away.
type Alerts struct {
	// Who is told, the first one first. The next one is told what does not come within a
	// minute. Defaults to nobody.
	To []AlertTarget `yaml:"to,omitempty"`
	// How long something must need a person before anybody is told. Defaults to 2m.
	For time.Duration `yaml:"for,omitempty"`
	// How often it is told again while it lasts. Defaults to 4h.
	Repeat time.Duration `yaml:"repeat,omitempty"`
	// URL that is fetched every 15 seconds once it was decided who is told: a service
	// that expects it tells people when it stays away. It is treated as a secret.
	// Defaults to none.
	Heartbeat secret.Value `yaml:"heartbeat,omitempty"`
}

// AlertTarget is somebody to be told.
type AlertTarget struct {
	// Name of an http or smtp destination. What is told there is in a queue of its own,
	// and waits neither for the rate of the destination nor for its breaker. Required.
	Destination string `yaml:"destination,omitempty"`
	// Address of the recipient with smtp, or several with commas between them. Required
	// there.
	Recipient string `yaml:"recipient,omitempty"`
	// Body of the request with http: json, slack (also for Mattermost), or pagerduty
	// (Events API v2, the integration key as header X-Routing-Key of the destination).
	// Defaults to json.
	Format string `yaml:"format,omitempty"`
	// Only what is about sources and destinations of this team. Defaults to what is no
	// team's, and what is about a team that nobody in this list is of.
	Team string `yaml:"team,omitempty"`
	// What is told: page, ticket, notice. Defaults to page and ticket.
	Severities []string `yaml:"severities,omitempty"`
}

// The formats.
const (
	FormatJSON      = "json"
	FormatSlack     = "slack"
	FormatPagerDuty = "pagerduty"
)

func (a Alerts) withDefaults() Alerts {
	a.For, a.Repeat = cmp.Or(a.For, alarm.DefaultFor), cmp.Or(a.Repeat, alarm.DefaultRepeat)
	return a
}

// TeamOf is whose a source or destination is, empty for what is nobody's.
func (c *Config) TeamOf(name string) string {
	if d, ok := c.Destinations[name]; ok {
		return d.Team
	}
	return c.Sources[name].Team
}

func (c *Config) checkAlerts(d *decoder) {
	for i, to := range c.Alerts.To {
		d.faults(fmt.Sprintf("alerts.to[%d]", i), c.checkTarget(to))
	}
	var check option.Check
	check.Positive("for", c.Alerts.For)
	check.Positive("repeat", c.Alerts.Repeat)
	if !c.Alerts.Heartbeat.IsZero() {
		if u, err := url.Parse(c.Alerts.Heartbeat.Reveal()); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			check.Failf("heartbeat", nil, "is not a URL; allowed: https://host/path, and http")
		}
	}
	d.faults("alerts", check.Err())
}

func (c *Config) checkTarget(to AlertTarget) error {
	var check option.Check
	dest, known := c.Destinations[to.Destination]
	switch {
	case to.Destination == "":
		check.Missing("destination", "has no destination")
	case !known:
		check.OneOf("destination", "destination", to.Destination, slices.Sorted(maps.Keys(c.Destinations))...)
	case dest.SQL != nil:
		check.Failf("destination", to.Destination, "runs statements; only http and smtp destinations tell people")
	case dest.SMTP != nil && to.Recipient == "":
		check.Missing("recipient", "has no recipient")
	case dest.SMTP != nil && to.Format != "":
		check.Failf("format", to.Format, "means nothing with smtp")
	case dest.HTTP != nil && to.Recipient != "":
		check.Failf("recipient", to.Recipient, "means nothing with http")
	}
	if to.Recipient != "" {
		if _, err := mail.ParseAddressList(to.Recipient); err != nil {
			check.Failf("recipient", to.Recipient, "is no list of addresses; allowed: ops@example.com, Ann <ann@example.com>")
		}
	}
	if to.Format != "" {
		check.OneOf("format", "format", to.Format, FormatJSON, FormatSlack, FormatPagerDuty)
	}
	for i, severity := range to.Severities {
		check.OneOf(fmt.Sprintf("severities[%d]", i), "severity", severity, string(alarm.Page), string(alarm.Ticket), string(alarm.Notice))
	}
	return check.Err()
}
