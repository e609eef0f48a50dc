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
	// Accepted secrets; give several during a rotation. At least one is required, unless the
	// provider signs its deliveries with keys that it publishes. A secret is text, or a mapping if
	// it is in a separate file or accepted only for a limited time.
	Secrets []Secret `yaml:"secrets,omitempty"`
	// Name of the cell whose database stores this source's events. Use `hooklatch cells
	// move` to change the cell of a source that has events: otherwise the new database would accept
	// duplicates of them. Defaults to main, the section database.
	Cell string `yaml:"cell,omitempty"`
	// Name of the source's previous cell. This cell stores the source's new events until `hooklatch
	// cells move` has completed, and it keeps the events and effects that it has. Defaults to none:
	// the source was always in its cell.
	MovedFrom string `yaml:"moved_from,omitempty"`
	// Maximum size of a delivery's body. Defaults to the largest body that the provider is known to
	// send, but at least gateway.max_body.
	MaxBody size.Bytes `yaml:"max_body,omitempty"`
	// Accepts bodies with Content-Encoding: gzip. The value says which bytes their signature
	// covers: unpacked (the body after unpacking) or sent (the bytes as they were sent). max_body
	// limits both. The body is stored unpacked. Defaults to none: such bodies are answered with
	// 415.
	Gzip string `yaml:"gzip,omitempty"`
	// If true, Go handlers process this source's events, and their jobs go to a queue that only
	// processes with handlers serve. Defaults to false.
	Handlers bool `yaml:"handlers,omitempty"`
	// The complete URL that the sender was given, if it is not gateway.public_url followed
	// by /webhooks/ and the source's name.
	PublicURL string `yaml:"public_url,omitempty"`
	// Treatment of a delivery with new ids under a signature that was already seen, from senders
	// that do not sign the id or the body. off does nothing; flag accepts it, marks it as suspect
	// and warns; hold accepts it and holds it until an operator decides; refuse answers 401. With
	// flag, a delivery is also held if its type or body differs from the first delivery with this
	// signature. Defaults to refuse if the body is not signed (paypal), flag if the id is not
	// signed, and otherwise off.
	ReplayGuard string `yaml:"replay_guard,omitempty"`
	// Rule by which duplicates are recognised: id, or content, or a mapping with ignore.
	// content also treats events with the same content as one event, whatever their ids,
	// if they arrive within dedup_window. Defaults to id.
	Dedup Dedup `yaml:"dedup,omitempty"`
	// Time for which the same content counts as the same event, from its first delivery
	// on. Only with dedup: content. Defaults to 1m.
	DedupWindow time.Duration `yaml:"dedup_window,omitempty"`
	// Values to remove: JSON pointers into an event, or names of form fields after a
	// slash, such as /From. The values are replaced in the body, and the requests and
	// responses of the event's effects are removed. The event cannot be replayed
	// afterwards. Not for senders whose bodies may be neither JSON nor a form.
	Redact []string `yaml:"redact,omitempty"`
	// Time from the end of an event's last effect until its values are replaced: at least 1h, and
	// shorter than the source's retention.dedup. Only with redact. Defaults to 7d, or half of dedup
	// if that is shorter.
	RedactAfter time.Duration `yaml:"redact_after,omitempty"`
	// Values by which `hooklatch find` and the console find this source's events quickly. Give up
	// to 8 JSON pointers into an event, or names of form fields after a slash. They lead to texts,
	// numbers, or lists of them. Up to 16 values of an event are stored, each of up to 256 bytes
	// and in lower case. They are kept until the body expires or is redacted or erased. The setting
	// applies to events that are dispatched after it takes effect. Defaults to none.
	Search []string `yaml:"search,omitempty"`
	// Storage of refused deliveries: on keeps them for a week, off keeps none. After you have
	// corrected a wrong secret, kept deliveries can be verified again. Defaults to on.
	Quarantine string `yaml:"quarantine,omitempty"`
	// If true, test events are refused. Only for stripe (test mode), square (the sandbox)
	// and paddle (its simulator), which mark them. Defaults to false.
	Livemode bool `yaml:"livemode,omitempty"`
	// Team that owns this source. Alerts about the source go to this team, and `status
	// --team` selects by it. Defaults to no team.
	Team string `yaml:"team,omitempty"`
	// Fetches from the provider's API the events that webhooks did not deliver. Not with
	// dedup: content. Defaults to no backfill.
	Backfill *backfill.Settings `yaml:"backfill,omitempty"`
	// Time for which this source's events are remembered.
	Retention SourceRetention `yaml:"retention,omitempty"`

	provider.Options `yaml:",inline"`

	made    *provider.Provider // created once, because creation is expensive
	madeErr error
}

// Dedup configures the recognition of duplicates. A rule without other fields can be a text.
type Dedup struct {
	// Rule by which duplicates are recognised: id or content. Defaults to id.
	Rule string `yaml:"rule,omitempty"`
	// JSON pointers to the values that the sender changes when it sends an event again,
	// such as /sg_event_id. The event's key is then a hash of the rest of its body, and of
	// its type if a header names it, instead of the key that the provider documents. For a
	// form: names of fields after a slash.
	Ignore []string `yaml:"ignore,omitempty"`
}

// ProviderOptions returns the provider's options, including dedup.ignore.
func (s Source) ProviderOptions() provider.Options {
	o := s.Options
	o.Ignore = s.Dedup.Ignore
	return o
}

// OverridesKey reports whether the keys of the source's events are built differently from what its
// provider documents.
func (s Source) OverridesKey(p *provider.Provider) bool {
	return p.About.Confirmed.EventID != provider.Configured && (s.EventID.Text() != "" || len(s.Dedup.Ignore) > 0)
}

// Sender returns the source's provider.
func (s Source) Sender() (*provider.Provider, error) {
	if s.made == nil && s.madeErr == nil { // the source was not read from a file
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
