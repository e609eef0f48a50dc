package quarantine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Refused is a request that a gateway refuses, with all data needed to verify it again.
type Refused struct {
	Source identity.Source
	// Reason is one of a fixed set of reasons; Detail is for operators. Neither contains a secret.
	Reason, Detail string
	From           netip.Prefix // see Keeper
	Method         string
	Host           string // host that the sender called
	Secure         bool   // the sender used https
	Target         string // path, and the query unless it is a secret
	// Headers are the request's headers, except headers that are secrets themselves.
	Headers map[string][]string
	// Secrets are the values of headers and parameters that carry a secret, by name. Only an HMAC
	// of each value is stored.
	Secrets map[string][]secret.Value
	Body    []byte
}

// Delivery is a request in quarantine.
type Delivery struct {
	ID         uuid.UUID           `json:"id"`
	Source     identity.Source     `json:"source"`
	RejectedAt time.Time           `json:"rejected_at"` // arrival, by the database's clock
	Reason     string              `json:"reason"`
	Detail     string              `json:"detail,omitzero"`
	From       string              `json:"from,omitzero"` // a /32 of IPv4 or a /64 of IPv6
	Known      bool                `json:"known"`         // From was known: see Keeper.Known
	Method     string              `json:"method"`
	Host       string              `json:"host"`
	Secure     bool                `json:"secure"`
	Target     string              `json:"target"`
	Bytes      int                 `json:"bytes"` // counted toward the caps
	Headers    map[string][]string `json:"headers,omitempty"`
	Body       []byte              `json:"body,omitempty"`

	secrets map[string][]string // HMACs, hex
	key     []byte
}

func (d *Delivery) summary() []any {
	return []any{
		&d.ID, &d.Source, &d.RejectedAt, &d.Reason, &d.Detail, &d.From, &d.Known, &d.Method, &d.Host, &d.Secure, &d.Target, &d.Bytes,
	}
}

// Carried returns the sorted names of the headers and parameters that carried a secret.
func (d *Delivery) Carried() []string {
	names := make([]string, 0, len(d.secrets))
	for name := range d.secrets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// CarriedAs reports whether the request carried exactly these values, in this order, as secrets
// under a name.
func (d *Delivery) CarriedAs(name string, values []string) bool {
	kept := d.secrets[name]
	if len(kept) == 0 || len(kept) != len(values) {
		return false
	}
	same := true
	for i, value := range values {
		same = hmac.Equal([]byte(kept[i]), []byte(sealed(d.key, d.Source, name, value))) && same
	}
	return same
}

// sealed returns a secret's stored form: the HMAC of the source, the name and the secret, in
// hexadecimal.
func sealed(key []byte, source identity.Source, name, value string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{string(source), name, value} {
		sum := sha256.Sum256([]byte(part))
		mac.Write(sum[:])
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// pending is a Refused that waits to be stored.
type pending struct {
	Refused

	id      uuid.UUID
	arrived time.Time // at this process, by its monotonic clock
	known   bool
	headers []byte // as JSON
	size    int
}

// rowOverhead is the number of bytes that are added to the size of each request's contents, when
// the request is counted toward the caps. maxText is the maximum length of Detail and of Host.
const (
	rowOverhead = 256
	maxText     = 8 << 10
)

// seal copies the data to store from r. The caller may change the headers and the body of r
// afterwards, but not Secrets.
func seal(r Refused) (*pending, error) {
	p := &pending{Refused: r, arrived: time.Now()}
	var err error
	if p.id, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	if p.headers, err = column.Headers(r.Headers); err != nil {
		return nil, err
	}
	p.Headers = nil
	p.Body = append(make([]byte, 0, len(r.Body)), r.Body...)
	p.Detail = safetext.Excerpt(r.Detail, maxText)
	p.Host = safetext.Excerpt(r.Host, maxText)
	p.Target = safetext.Storable(r.Target)
	p.size = len(p.Body) + len(p.headers) + len(p.Target) + len(p.Host) + len(p.Detail) + rowOverhead
	for _, values := range r.Secrets {
		for _, value := range values {
			p.size += len(value.Reveal())
		}
	}
	return p, nil
}

// sealedSecrets returns the HMACs of a request's secrets.
func (p *pending) sealedSecrets(key []byte) map[string][]string {
	all := make(map[string][]string, len(p.Secrets))
	for name, values := range p.Secrets {
		for _, value := range values {
			all[name] = append(all[name], sealed(key, p.Source, name, value.Reveal()))
		}
	}
	return all
}
