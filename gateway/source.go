package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// Source is one inbound endpoint: POST /webhooks/{Name}.
type Source struct {
	// Name is the last part of the path and the scope of every dedup key. It has 1 to 63
	// characters from a-z, 0-9, - and _, and begins with a letter or digit.
	Name string
	// Provider implements the sender's protocol. Required.
	Provider *provider.Provider
	// Secrets lists the accepted secrets; several during a rotation. At least one is required,
	// unless the provider is Keyless.
	Secrets []Secret
	// MaxBody is the source's body limit, in bytes. Zero means the largest of Options.MaxBody,
	// Provider.MaxBody and, for a form, Provider.MaxForm (which counts as at most
	// Options.MaxBuffered).
	MaxBody int64
	// Gzip, if set, makes the source accept bodies with Content-Encoding: gzip. They are stored
	// unpacked.
	Gzip Gzip
	// Handlers is true if Go handlers are registered for the source: see
	// outbox.Delivery.Handlers.
	Handlers bool
	// PublicURL is the complete URL that the sender was given, without query. Set it if that
	// URL is not Options.PublicURL followed by /webhooks/{Name}.
	PublicURL *url.URL
	// ReplayGuard is for senders that do not sign the complete delivery. Defaults to
	// DefaultReplayGuard.
	ReplayGuard ReplayGuard
	// ContentWindow is the period in which events with the same content count as one event,
	// whatever their ids. It starts with the first event. 0 compares only ids.
	ContentWindow time.Duration
	// Livemode, if true, refuses deliveries that Provider.TestEvent reports as tests.
	Livemode bool
	// QuarantineOff turns the quarantine off: no refused delivery is kept.
	QuarantineOff bool
	// Cell is the source's database, if there are several. Nil means the database of Options.
	Cell *Cell
}

// Cell is one of several databases. It commits, keeps and counts its sources' deliveries. All
// sources of a cell together may use half of Options.MaxInFlight, so that an unavailable
// database leaves room for the other cells.
type Cell struct {
	// Name is the name of the cell. Required.
	Name string
	// Accepter, Quarantine and Minutes replace the fields of Options with the same names.
	Accepter   Accepter
	Quarantine Quarantine
	Minutes    *measure.Counts
}

// source is a Source in the form that the receive path uses. It is immutable.
type source struct {
	Source

	cell          Cell // Cell.Name is empty if all sources have one database
	keys          keyring
	maxBody       int64
	maxForm       int64 // limit for a form; at least maxBody
	methods       []string
	secretHeaders []string // canonical names
	sent          []string // see sentSecrets
	labels        []attribute.KeyValue
	counted       countedAs
	tally         tally
}

// sourceSet holds all sources at one moment, by name.
type sourceSet map[string]*source

var sourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

func newSourceSet(sources []Source, opts Options) (*sourceSet, error) {
	set := make(sourceSet, len(sources))
	for _, s := range sources {
		if err := s.validate(); err != nil {
			return nil, err
		}
		if s.Provider.SignsURL && s.PublicURL == nil && opts.PublicURL == nil {
			return nil, fmt.Errorf("gateway: source %q: %s signs the URL, so PublicURL is required: the Host of a request can be anything", s.Name, s.Provider.Name)
		}
		if set[s.Name] != nil {
			return nil, fmt.Errorf("gateway: source %q is configured twice", s.Name)
		}
		src := newSource(s, opts)
		if src.largest() > int64(opts.MaxBuffered) {
			return nil, fmt.Errorf("gateway: source %q accepts bodies of %d bytes, which do not fit into MaxBuffered (%d)", s.Name, src.largest(), int64(opts.MaxBuffered))
		}
		set[s.Name] = src
	}
	return &set, nil
}

// limit returns the maximum body size, in bytes, of a request with this content type.
func (s *source) limit(contentType string) int64 {
	if payload.IsForm(contentType, nil) {
		return s.maxForm
	}
	return s.maxBody
}

func newSource(s Source, opts Options) *source {
	// The caller may change its slices later; a source in use must not change.
	s.Secrets = slices.Clone(s.Secrets)
	s.ReplayGuard = cmp.Or(s.ReplayGuard, DefaultReplayGuard(s.Provider))
	src := &source{
		Source:  s,
		keys:    newKeyring(s.Secrets, s.Provider),
		maxBody: cmp.Or(s.MaxBody, max(int64(opts.MaxBody), s.Provider.MaxBody)),
		maxForm: cmp.Or(s.MaxBody, max(int64(opts.MaxBody), s.Provider.MaxBody, min(s.Provider.MaxForm, int64(opts.MaxBuffered)))),
		methods: slices.Clone(s.Provider.Methods),
		labels:  sourceLabels(s.Name, s.Provider.Name),
	}
	if len(src.methods) == 0 {
		src.methods = []string{http.MethodPost}
	}
	for _, name := range s.Provider.SecretHeaders {
		src.secretHeaders = append(src.secretHeaders, http.CanonicalHeaderKey(name))
	}
	src.sent = s.sentSecrets()
	src.counted = newCountedAs(src.labels, len(s.Secrets))
	src.cell = Cell{Accepter: opts.Accepter, Quarantine: opts.Quarantine, Minutes: opts.Minutes}
	if s.Cell != nil {
		src.cell = *s.Cell
	}
	src.tally = newTally(src.cell.Minutes, s.Name, s.Secrets)
	return src
}

func (s Source) validate() error {
	switch {
	case !sourceName.MatchString(s.Name):
		return fmt.Errorf("gateway: source name %q must match %s", s.Name, sourceName)
	case s.Provider == nil || s.Provider.Verify == nil || s.Provider.Events == nil:
		return fmt.Errorf("gateway: source %q needs a provider that can verify and find events", s.Name)
	case len(s.Secrets) == 0 && !s.Provider.Keyless:
		return fmt.Errorf("gateway: source %q has no secret", s.Name)
	case s.MaxBody < 0:
		return fmt.Errorf("gateway: source %q: MaxBody cannot be less than zero", s.Name)
	case s.Livemode && s.Provider.TestEvent == nil:
		return fmt.Errorf("gateway: source %q: %s does not mark test events, so Livemode has no effect", s.Name, s.Provider.Name)
	case s.ContentWindow < 0:
		return fmt.Errorf("gateway: source %q: ContentWindow cannot be less than zero", s.Name)
	}
	for i, one := range s.Secrets {
		err := one.validate()
		if check := s.Provider.CheckSecret; err == nil && check != nil {
			err = check(one.Value)
		}
		if err != nil {
			return fmt.Errorf("gateway: source %q, secret %d: %w", s.Name, i+1, err)
		}
	}
	if err := errors.Join(s.ReplayGuard.validate(), s.Gzip.validate()); err != nil {
		return fmt.Errorf("gateway: source %q: %w", s.Name, err)
	}
	if err := validatePublicURL(s.PublicURL); err != nil {
		return fmt.Errorf("source %q: %w", s.Name, err)
	}
	return nil
}

func (s *source) allows(method string) bool { return slices.Contains(s.methods, method) }

func (s *source) allow() string { return strings.Join(s.methods, ", ") }
