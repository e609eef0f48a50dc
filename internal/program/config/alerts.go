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
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Alerts configures notifications about conditions that need attention. Workers send notifications.
// A missing heartbeat shows that no worker is running, or that a cell is unavailable.
type Alerts struct {
	// Targets to notify, in this order: if a notification does not arrive within a
	// minute, the next target is notified. Defaults to no targets.
	To []AlertTarget `yaml:"to,omitempty"`
	// Time for which a condition must hold before a notification is sent. Defaults to 2m.
	For time.Duration `yaml:"for,omitempty"`
	// Interval between repeated notifications while an alert fires. Defaults to 4h.
	Repeat time.Duration `yaml:"repeat,omitempty"`
	// URL that a worker requests every 15 seconds, after it has evaluated all conditions. A
	// monitoring service that expects these requests can alert when they stop. The URL is
	// treated as a secret. Defaults to none.
	Heartbeat secret.Value `yaml:"heartbeat,omitempty"`
}

// AlertTarget is a destination to notify.
type AlertTarget struct {
	// Name of an http or smtp destination. Notifications have their own queue and ignore
	// the destination's rate and breaker. Required.
	Destination string `yaml:"destination,omitempty"`
	// Address of the recipient with smtp, or several addresses separated by commas.
	// Required with smtp.
	Recipient string `yaml:"recipient,omitempty"`
	// Format of the request body with http: json, slack (also for Mattermost), or pagerduty (Events
	// API v2). pagerduty needs the integration key in the destination's header X-Routing-Key.
	// Defaults to json, or the format of the destination's preset if it has one.
	Format string `yaml:"format,omitempty"`
	// Team whose alerts go to this target: alerts about the team's sources and destinations.
	// Defaults to alerts without a team, and alerts about teams that have no target in this list.
	Team string `yaml:"team,omitempty"`
	// Severities to send: page, ticket, notice. Defaults to page and ticket.
	Severities []string `yaml:"severities,omitempty"`
}

// These are all values of AlertTarget.Format.
const (
	FormatJSON      = "json"
	FormatSlack     = "slack"
	FormatPagerDuty = "pagerduty"
)

func (a Alerts) withDefaults() Alerts {
	a.For, a.Repeat = cmp.Or(a.For, alarm.DefaultFor), cmp.Or(a.Repeat, alarm.DefaultRepeat)
	return a
}

// TeamOf returns the team that owns a source or destination, or "" if none does. If a destination
// without a team has the name of a source, for example in a two-way integration, the team of the
// source owns both.
func (c *Config) TeamOf(name string) string {
	return cmp.Or(c.Destinations[name].Team, c.Sources[name].Team)
}

// checkRecipients refuses addresses to which no email can be sent: with such an address, the
// workers would notify no recipient at all.
func checkRecipients(list []*mail.Address) error {
	to := make([]string, len(list))
	for i, one := range list {
		to[i] = one.String()
	}
	return destination.Message{To: to, Subject: "alert", Text: "alert"}.Validate()
}

// Teams returns the names of the teams that own a source or destination, in order.
func (c *Config) Teams() []string {
	teams := map[string]bool{}
	for _, s := range c.Sources {
		teams[s.Team] = true
	}
	for _, d := range c.Destinations {
		teams[d.Team] = true
	}
	delete(teams, "")
	return slices.Sorted(maps.Keys(teams))
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
			check.Failf("heartbeat", nil, "is not a URL; allowed: https://host/path, also with http")
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
	case dest.HTTP == nil && dest.SMTP == nil:
		check.Failf("destination", to.Destination, "is not an http or smtp destination; alerts need one of these")
	case dest.SMTP != nil && to.Recipient == "":
		check.Missing("recipient", "has no recipient")
	case dest.SMTP != nil && to.Format != "":
		check.Failf("format", to.Format, "has no effect with smtp")
	case dest.HTTP != nil && to.Recipient != "":
		check.Failf("recipient", to.Recipient, "has no effect with http")
	}
	if to.Recipient != "" {
		if list, err := mail.ParseAddressList(to.Recipient); err != nil {
			check.Failf("recipient", to.Recipient, "is not a list of addresses; allowed: ops@example.com, Ann <ann@example.com>")
		} else if err := checkRecipients(list); err != nil {
			check.Failf("recipient", nil, "cannot be used: %s", err)
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
