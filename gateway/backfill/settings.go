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

// Via selects how missing events are recovered.
type Via string

// Values of Via.
const (
	ViaAuto      Via = "auto"      // redeliver if the provider can, otherwise pull
	ViaPull      Via = "pull"      // fetch from the list
	ViaRedeliver Via = "redeliver" // ask the provider to deliver again
)

// Settings configure how a source's list is read.
type Settings struct {
	// Credential for the provider's API, with the permissions that the provider's page
	// describes. For a GitHub App, the app's private key. Required.
	Token secret.Value `yaml:"token,omitempty"`
	// Your endpoint at the provider, as the provider's page describes it.
	Endpoint string `yaml:"endpoint,omitempty"`
	// URL of the API, if it differs from the provider's public URL. It may lead to a private
	// address.
	BaseURL string `yaml:"base_url,omitempty"`
	// Accounts whose lists are read, one after another, if the credential can read several
	// accounts (Stripe Connect). Defaults to the account of the credential.
	Accounts []string `yaml:"accounts,omitempty"`
	// Client id of a GitHub App, with endpoint: app.
	App string `yaml:"app,omitempty"`

	// auto recovers missing events; report only reports them. Defaults to auto.
	Mode string `yaml:"mode,omitempty"`
	// Method of recovering missing events: auto, pull (from the list) or redeliver (the
	// provider delivers them again). Defaults to auto.
	Via Via `yaml:"via,omitempty"`
	// Types of events to recover, with * for any text. Defaults to the types that the endpoint
	// is subscribed to.
	Types []string `yaml:"types,omitempty"`
	// Time between two passes over the list. Defaults to 15m.
	Every time.Duration `yaml:"every,omitempty"`
	// Time between two passes over the whole window. Defaults to 24h.
	Deep time.Duration `yaml:"deep,omitempty"`
	// Age of the oldest events that a pass reads. Defaults to 3d, or the period that the provider
	// lists if that is shorter.
	Window time.Duration `yaml:"window,omitempty"`
	// Maximum delay until the provider's list shows a new event. Defaults to 2m.
	Lag time.Duration `yaml:"lag,omitempty"`
	// Time by which a pass overlaps the previous pass. Defaults to 10m.
	Overlap time.Duration `yaml:"overlap,omitempty"`
	// Maximum rate of requests to the provider, such as 2/s. Defaults to a rate far below the
	// provider's limit, or 1/s if the provider has no known limit.
	Rate rate.PerSecond `yaml:"rate,omitempty"`
	// Confirms that you accept that this provider's list relies on unconfirmed facts.
	Experimental bool `yaml:"experimental,omitempty"`
	// The list of your own service, or of a provider whose list Hooklatch does not know.
	Own *OwnList `yaml:"list,omitempty"`
	// List is the provider's list, or the list built from Own.
	List *provider.List `yaml:"-"`
}

// Values of Settings.Mode.
const (
	ModeAuto   = "auto"
	ModeReport = "report"
)

const day = 24 * time.Hour

// usualRate is the default rate for a list without a rate of its own: one request per second.
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

// back returns how far back the provider lists events: 365 days if that is unknown.
func (s Settings) back() time.Duration {
	if s.List == nil || s.List.BackDays == 0 {
		return 365 * day
	}
	return time.Duration(s.List.BackDays) * day
}

// Validate checks settings after WithDefaults. The parameter remembered is the time for which an
// event's key is remembered; 0: forever. The error of Validate is option.Faults.
func (s Settings) Validate(remembered time.Duration) error {
	var c option.Check
	if s.Token.IsZero() {
		c.Missing("token", "is not given; it is a credential for the provider's API")
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
		c.Failf("window", s.Window, "is not shorter than the %s for which event keys are kept: a deleted event would be accepted again", remembered)
	}
	if s.Own != nil {
		s.Own.check(&c)
	}
	if s.List != nil && s.List.Experimental && !s.Experimental {
		c.Missing("experimental", "is not given; this provider's list relies on unconfirmed facts: set experimental: true to use it")
	}
	if s.List != nil && s.List.Endpoint != "" && !regexp.MustCompile("^(?:"+s.List.Endpoint+")$").MatchString(s.Endpoint) {
		c.Failf("endpoint", s.Endpoint, "is not an endpoint of this provider; allowed: text like %s", s.List.Example)
	}
	if u, err := url.Parse(s.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && isPrivate(u.Hostname())) {
		c.Failf("base_url", s.BaseURL, "is not the URL of an API; allowed: https://, or http:// with a private address")
	}
	return c.Err()
}

// isPrivate reports whether a host is localhost, or a loopback or private address.
func isPrivate(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (address.IsLoopback() || address.IsPrivate())
}

// streams returns the accounts, or one unnamed account if none is set.
func (s Settings) streams() []string {
	if len(s.Accounts) == 0 {
		return []string{""}
	}
	return s.Accounts
}
