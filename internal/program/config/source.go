package config

import (
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/size"
)

// Source is one inbound endpoint.
type Source struct {
	// The kind of sender: stripe, github, ...
	Provider string `yaml:"provider,omitempty"`
	// Secrets that are accepted; several while one is rotated. At least one is
	// needed, unless the provider proves its deliveries with keys it publishes.
	// Each is text, or a mapping where it stands in a file of its own or is
	// accepted for a time only.
	Secrets []Secret `yaml:"secrets,omitempty"`
	// Largest body of a delivery. Defaults to what the provider is known to
	// send, and at least to gateway.max_body.
	MaxBody size.Bytes `yaml:"max_body,omitempty"`
	// Accepts bodies with Content-Encoding: gzip, and says what their signature covers:
	// unpacked (the body after unpacking) or sent (the bytes as they were sent). max_body
	// limits both. The body is stored unpacked. Defaults to refusing them with 415.
	Gzip string `yaml:"gzip,omitempty"`
	// Go handlers process the events of this source: its jobs go to a queue
	// that only processes with handlers work. Defaults to false.
	Handlers bool `yaml:"handlers,omitempty"`
	// The complete URL the sender was given, where it is not gateway.public_url
	// with /webhooks/ and the name behind it.
	PublicURL string `yaml:"public_url,omitempty"`
	// What becomes of a delivery that brings new ids under a signature that
	// came before, from senders that do not sign the id or the body: off, flag
	// (accept it, mark it as suspect and warn), hold (accept it, and keep it back
	// until a person decides) or refuse (answer 401). One that brings another
	// type or body than the signature came with before is held under flag too.
	// Defaults to refuse where the body is not signed (paypal), to flag where the
	// id is not, and to off for all others.
	ReplayGuard string `yaml:"replay_guard,omitempty"`
	// What makes two deliveries the same event: id, or content, which takes
	// events of the same content for one event as well, whatever their ids, as
	// long as they come within dedup_window; or a mapping with ignore. Defaults
	// to id.
	Dedup Dedup `yaml:"dedup,omitempty"`
	// How long the same content is the same event, from its first delivery on.
	// Only with dedup: content. Defaults to 1m.
	DedupWindow time.Duration `yaml:"dedup_window,omitempty"`
	// Values that are not kept: JSON pointers into an event, or names of form
	// fields with a slash before them, as /From. They are replaced in the body, and
	// what the effects of the event sent and were answered goes with them. The event
	// is not replayed afterwards. Not for senders whose bodies may be neither JSON nor
	// a form.
	Redact []string `yaml:"redact,omitempty"`
	// How long after the end of its last effect the values of an event are
	// replaced: at least 1h. Only with redact. Defaults to 7d.
	RedactAfter time.Duration `yaml:"redact_after,omitempty"`
	// Whether deliveries that are refused are kept for a while, to be verified
	// again once a wrong secret is right: on or off. Defaults to on.
	Quarantine string `yaml:"quarantine,omitempty"`
	// Refuses events of tests: true or false. Only for stripe (test mode), square (the
	// sandbox) and paddle (its simulator), which say so. Defaults to false.
	Livemode bool `yaml:"livemode,omitempty"`
	// Whose it is: alerts about it go to this team, and status shows it. Defaults to
	// that of no team.
	Team string `yaml:"team,omitempty"`
	// Asks the API of the provider what its webhooks did not bring. Defaults to not asking.
	Backfill *backfill.Settings `yaml:"backfill,omitempty"`
	// How long the events of this source are remembered.
	Retention SourceRetention `yaml:"retention,omitempty"`

	provider.Options `yaml:",inline"`

	made    *provider.Provider // once: it is not cheap
	madeErr error
}

// Dedup is what makes two deliveries the same event. Where it is nothing but the
// rule, it stands in the file as text.
type Dedup struct {
	// The rule: id or content.
	Rule string `yaml:"rule,omitempty"`
	// JSON pointers into an event to what its sender changes when it sends the
	// event again, such as /sg_event_id. The key of the event is a hash of all
	// the rest of it then, in place of the key that the provider documents. Of
	// a form, names of fields with a slash before them.
	Ignore []string `yaml:"ignore,omitempty"`
}

// ProviderOptions are the options of the provider, with what is given elsewhere in the
// source.
func (s Source) ProviderOptions() provider.Options {
	o := s.Options
	o.Ignore = s.Dedup.Ignore
	return o
}

// OverridesKey reports whether the source has another key than its provider
// documents.
func (s Source) OverridesKey(p *provider.Provider) bool {
	return p.About.Confirmed.EventID != provider.Configured && (s.EventID.Text() != "" || len(s.Dedup.Ignore) > 0)
}

// Sender is the provider that the source is made with.
func (s Source) Sender() (*provider.Provider, error) {
	if s.made == nil && s.madeErr == nil { // a source that was not read
		return catalog.New(s.Provider, s.ProviderOptions())
	}
	return s.made, s.madeErr
}

// The values of Source.ReplayGuard, Dedup.Rule, Source.Quarantine and Source.Gzip.
const (
	ReplayOff    = string(gateway.ReplayOff)
	ReplayFlag   = string(gateway.ReplayFlag)
	ReplayHold   = string(gateway.ReplayHold)
	ReplayRefuse = string(gateway.ReplayRefuse)

	DedupID      = "id"
	DedupContent = "content"

	QuarantineOn  = "on"
	QuarantineOff = "off"

	GzipUnpacked = string(gateway.GzipUnpacked)
	GzipSent     = string(gateway.GzipSent)
)

var (
	replayGuards = []string{ReplayOff, ReplayFlag, ReplayHold, ReplayRefuse}
	dedups       = []string{DedupID, DedupContent}
	quarantines  = []string{QuarantineOn, QuarantineOff}
	gzips        = []string{GzipUnpacked, GzipSent}
)
