package backfill

import (
	"cmp"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/rate"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Via is how missing events are recovered.
type Via string

// Values of Via.
const (
	ViaAuto      Via = "auto"      // redeliver if the provider can, else pull
	ViaPull      Via = "pull"      // fetch from the list
	ViaRedeliver Via = "redeliver" // the provider delivers it again
)

// Settings configure how the list of a source is read.
type Settings struct {
	// Credential for the API of the provider, with the read permission that the provider's
	// page names. For a GitHub App, its private key. Required.
	Token secret.Value `yaml:"token,omitempty"`
	// Our endpoint at the provider, as the provider's page describes it.
	Endpoint string `yaml:"endpoint,omitempty"`
	// URL of the API, if it is not the provider's public one. It may lead to a private
	// address.
	BaseURL string `yaml:"base_url,omitempty"`
	// Accounts whose events are listed one by one, if the credential sees several (Stripe
	// Connect). Defaults to the account of the credential.
	Accounts []string `yaml:"accounts,omitempty"`
	// Client id of a GitHub App, with endpoint: app.
	App string `yaml:"app,omitempty"`

	// Whether missing events are recovered (auto) or only reported (report). Defaults to
	// auto.
	Mode string `yaml:"mode,omitempty"`
	// How missing events are recovered: auto, pull (from the list) or redeliver (the
	// provider delivers them again). Defaults to auto.
	Via Via `yaml:"via,omitempty"`
	// Types of events to recover, with * for any text. Defaults to those that the endpoint
	// is subscribed to.
	Types []string `yaml:"types,omitempty"`
	// Time between two passes over the list. Defaults to 15m.
	Every time.Duration `yaml:"every,omitempty"`
	// Time between two passes over the whole window. Defaults to 24h.
	Deep time.Duration `yaml:"deep,omitempty"`
	// How far back a pass reads. Defaults to 3d, or as far as the provider lists.
	Window time.Duration `yaml:"window,omitempty"`
	// How long the list may take to show an event. Defaults to 2m.
	Lag time.Duration `yaml:"lag,omitempty"`
	// How far before the end of the previous pass a pass begins. Defaults to 10m.
	Overlap time.Duration `yaml:"overlap,omitempty"`
	// Most requests to the provider in a time, such as 2/s. Defaults to a rate far below
	// the provider's limit, else to 1/s.
	Rate rate.PerSecond `yaml:"rate,omitempty"`
	// Confirms that you accept that the list of this provider rests on unconfirmed facts.
	Experimental bool `yaml:"experimental,omitempty"`
	// The list of your own service, or of a provider whose list is not known.
	Own *OwnList `yaml:"list,omitempty"`
	// List is the list of the provider, or the one built from Own.
	List *provider.List `yaml:"-"`
}

// Values of Settings.Mode.
const (
	ModeAuto   = "auto"
	ModeReport = "report"
)

const day = 24 * time.Hour

// usualRate is one request per second.
const usualRate = 1

// WithDefaults returns a copy in which every unset field has its default.
func (s Settings) WithDefaults(list *provider.List) Settings {
	if s.List = cmp.Or(s.List, list); s.Own != nil {
		s.List = s.Own.list()
		s.BaseURL = cmp.Or(s.BaseURL, s.Own.base())
	}
	s.Mode = cmp.Or(s.Mode, ModeAuto)
	s.Via = cmp.Or(s.Via, ViaAuto)
	s.Every = cmp.Or(s.Every, 15*time.Minute)
	s.Deep = cmp.Or(s.Deep, day)
	s.Lag = cmp.Or(s.Lag, 2*time.Minute)
	s.Overlap = cmp.Or(s.Overlap, 10*time.Minute)
	if s.List != nil {
		s.BaseURL = cmp.Or(s.BaseURL, s.List.Base)
		s.Rate = cmp.Or(s.Rate, rate.PerSecond(s.List.Rate), usualRate)
		s.Window = cmp.Or(s.Window, min(3*day, s.back()))
	}
	return s
}

// back is how long the provider lists an event.
func (s Settings) back() time.Duration {
	if s.List == nil || s.List.BackDays == 0 {
		return 365 * day
	}
	return time.Duration(s.List.BackDays) * day
}

// Validate checks settings that have their defaults. remembered is how long an event's key
// is remembered. Its error is option.Faults.
func (s Settings) Validate(remembered time.Duration) error {
	var c option.Check
	if s.Token.IsZero() {
		c.Missing("token", "is not given; it is a credential for the API of the provider")
	}
	c.Positive("every", s.Every)
	c.Positive("deep", s.Deep)
	c.Positive("window", s.Window)
	c.Positive("overlap", s.Overlap)
	c.NotNegative("lag", s.Lag)
	c.OneOf("mode", "mode", s.Mode, ModeAuto, ModeReport)
	c.OneOf("via", "way", string(s.Via), string(ViaAuto), string(ViaPull), string(ViaRedeliver))
	if back := s.back(); s.Window > back {
		c.Failf("window", s.Window, "is longer than the %s for which the provider lists its events", back)
	}
	if remembered > 0 && s.Window >= remembered {
		c.Failf("window", s.Window, "is not shorter than the %s for which keys of events are kept: a deleted event would be accepted again", remembered)
	}
	if s.Own != nil {
		s.Own.check(&c)
	}
	if s.List != nil && s.List.Experimental && !s.Experimental {
		c.Missing("experimental", "is not given; the list of this provider relies on unconfirmed facts: set experimental: true to use it")
	}
	if s.List != nil && s.List.Endpoint != "" && !regexp.MustCompile("^(?:"+s.List.Endpoint+")$").MatchString(s.Endpoint) {
		c.Failf("endpoint", s.Endpoint, "is not an endpoint of this provider; allowed: text like %s", s.List.Example)
	}
	if u, err := url.Parse(s.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && isPrivate(u.Hostname())) {
		c.Failf("base_url", s.BaseURL, "is not the URL of an API; allowed: https://, or http:// with a private address")
	}
	return c.Err()
}

// isPrivate reports whether a host cannot be on the public internet.
func isPrivate(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (address.IsLoopback() || address.IsPrivate())
}

// streams returns the accounts, or one without a name.
func (s Settings) streams() []string {
	if len(s.Accounts) == 0 {
		return []string{""}
	}
	return s.Accounts
}
