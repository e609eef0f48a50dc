package provider

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Options is what a source may set for its provider. Every provider takes
// only the options that mean something to it; New refuses the others.
type Options struct {
	// Tolerance is how far the signed time may lie from ours, in both
	// directions. 0 is the provider's default (300 s), negative is off. Only
	// for schemes that sign a time.
	Tolerance time.Duration `yaml:"tolerance,omitempty"`

	// SecretEncoding says how the configured secret spells the key: raw,
	// base64 or hex. Providers standard-webhooks (base64 or raw, default
	// base64) and hmac (default raw).
	SecretEncoding string `yaml:"secret_encoding,omitempty"`

	// Audience the token must be made for: the provider's default is the URL
	// of the endpoint, where it has one. Providers jwt (required) and those that
	// sign with JSON Web Tokens.
	Audience string `yaml:"audience,omitempty"`
	// Issuer the token must be made by. Provider jwt.
	Issuer string `yaml:"issuer,omitempty"`
	// JWKSURL is where the issuer publishes its keys (RFC 7517): https, on a
	// public address. They are fetched when they are needed, and kept for an
	// hour. Provider jwt, instead of secrets.
	JWKSURL string `yaml:"jwks_url,omitempty"`
	// JWKSFile is a file with the keys of the issuer, read at start. Provider
	// jwt, instead of secrets.
	JWKSFile string `yaml:"jwks_file,omitempty"`
	// Algorithms the token may be signed with, such as RS256, ES256 or EdDSA.
	// Provider jwt. Default: HS256 with secrets, else RS256 and ES256.
	Algorithms []string `yaml:"algorithms,omitempty"`
	// Claims the token must have, with their values. Provider jwt.
	Claims map[string]string `yaml:"claims,omitempty"`
	// BodyHashClaim names the claim that is the SHA-256 of the body, in hex.
	// Without it the token does not protect the body. Provider jwt.
	BodyHashClaim string `yaml:"body_hash_claim,omitempty"`
	// MaxAge of a token since it was issued (its claim iat). Provider jwt.
	// Default: as long as the token says (its claim exp).
	MaxAge time.Duration `yaml:"max_age,omitempty"`
	// Query is the parameter of the URL that carries the token. Provider token,
	// instead of Header.
	Query string `yaml:"query,omitempty"`

	// VerifyToken is the token the sender shows when it checks the endpoint, as
	// it was entered there. Providers whatsapp and meta.
	VerifyToken secret.Value `yaml:"verify_token,omitempty"`

	// The rest describes a scheme of one's own: provider hmac, and for header,
	// prefix and the last three also token, basic and jwt.

	// Header carries the signature or the token. Required for hmac. Default for
	// token and jwt: Authorization, with the prefix "Bearer ". For hmac a name
	// that ends in -{n} stands for several headers, numbered from 1: X-Sig-{n}.
	Header string `yaml:"header,omitempty"`
	// Algorithm of the HMAC: sha1, sha256 or sha512. Default sha256.
	Algorithm string `yaml:"algorithm,omitempty"`
	// Encoding of the signature: hex, base64 or base64url. Default hex.
	Encoding string `yaml:"encoding,omitempty"`
	// Prefix stands before the signature, such as "sha256=". Default none.
	Prefix string `yaml:"prefix,omitempty"`
	// Template is what is signed, with {ts}, {id}, {body}, {url} and {method}
	// in it; {body} is required. Default "{body}".
	Template string `yaml:"template,omitempty"`

	// TimestampHeader carries {ts}.
	TimestampHeader string `yaml:"timestamp_header,omitempty"`
	// TimestampUnit of {ts}: s, ms or rfc3339. Default s.
	TimestampUnit string `yaml:"timestamp_unit,omitempty"`
	// IDHeader carries {id}, which is then the default of EventID.
	IDHeader string `yaml:"id_header,omitempty"`

	// SignatureField makes the header a list of k=v pairs, and names those
	// that carry a signature. Several may.
	SignatureField string `yaml:"signature_field,omitempty"`
	// TimestampField names the pair that carries {ts}.
	TimestampField string `yaml:"timestamp_field,omitempty"`
	// Separator stands between the pairs. Default ",".
	Separator string `yaml:"separator,omitempty"`

	// Each says that a delivery carries several events: a JSON pointer to the
	// list of them, or "body" where the body is the list itself. The pointers of
	// EventID, Type and OccurredAt then start at the item.
	Each string `yaml:"each,omitempty"`
	// EventID says what makes two deliveries the same event. Required, unless
	// the id is signed (IDHeader).
	EventID EventID `yaml:"event_id,omitempty"`
	// Type says where the event's type stands. Default: /type of a JSON body
	// where there is one, else "unknown". Also for standard-webhooks.
	Type Field `yaml:"type,omitempty"`
	// OccurredAt says where the time of the event stands. Default: nowhere.
	// Also for standard-webhooks.
	OccurredAt Clock `yaml:"occurred_at,omitempty"`

	// Fetch carries the requests by which keys and certificates of the sender
	// are fetched. Default: one that reaches public addresses only.
	Fetch http.RoundTripper `json:"-" yaml:"-"`
	// Roots are the authorities that certificates of the sender must come from.
	// Default: those of the system.
	Roots *x509.CertPool `json:"-" yaml:"-"`
	// Keys keeps what a sender gave us beyond a restart. Provider plaid, to which
	// it may be nil: then every process asks for itself.
	Keys KeyStore `json:"-" yaml:"-"`
}

// Field is where one text of a delivery stands. Exactly one of its members is
// set.
type Field struct {
	Header  string `yaml:"header,omitempty"`  // name of a request header
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer (RFC 6901) into the body
	Form    string `yaml:"form,omitempty"`    // field of a form body
	Fixed   string `yaml:"fixed,omitempty"`   // this text; not for ids

	// For declarations only: see up and except.
	levels int
	less   string
}

// EventID is where the id of an event stands, or what it is made of. Exactly
// one of its members is set, Optional apart.
type EventID struct {
	Header  string `yaml:"header,omitempty"`
	Pointer string `yaml:"pointer,omitempty"`
	Form    string `yaml:"form,omitempty"`
	// Join makes the id of several texts, all of which must be there: JSON
	// pointers, header:NAME and form:NAME.
	Join []string `yaml:"join,omitempty"`
	// Fields are JSON pointers, header:NAME and form:NAME of what does not
	// change when the event is sent again. The id is a hash of what stands
	// there, whatever its white space and the order of its keys. All of them
	// must be present.
	Fields []string `yaml:"fields,omitempty"`
	// Optional are further places for the hash, where there may be nothing.
	// Only with Fields.
	Optional []string `yaml:"optional,omitempty"`
}

// Clock is where a time stands.
type Clock struct {
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer into the body
	// Unit is s, ms or rfc3339. Default: rfc3339 for a JSON string, ms for a
	// number from 1e11 on, else s.
	Unit string `yaml:"unit,omitempty"`

	levels int // for declarations only: see Field.up
}

// OptionError says which option a provider cannot be made with.
type OptionError struct {
	Field   string // path of the option as the configuration spells it
	Value   string // what was given
	Allowed string // what may be given
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q is not allowed: %s", e.Field, e.Value, e.Allowed)
}

// given is an option that is set.
type given struct{ field, value string }

// given lists the options that are set, by the name the configuration has for
// them.
func (o Options) given() []given {
	var set []given
	add := func(field, value string) {
		if value != "" {
			set = append(set, given{field, value})
		}
	}
	if o.Tolerance != 0 {
		add("tolerance", o.Tolerance.String())
	}
	add("secret_encoding", o.SecretEncoding)
	add("audience", o.Audience)
	add("issuer", o.Issuer)
	add("jwks_url", o.JWKSURL)
	add("jwks_file", o.JWKSFile)
	add("algorithms", strings.Join(o.Algorithms, " "))
	add("claims", strings.Join(slices.Sorted(maps.Keys(o.Claims)), " "))
	add("body_hash_claim", o.BodyHashClaim)
	if o.MaxAge != 0 {
		add("max_age", o.MaxAge.String())
	}
	add("query", o.Query)
	if !o.VerifyToken.IsZero() {
		add("verify_token", o.VerifyToken.String())
	}
	add("header", o.Header)
	add("algorithm", o.Algorithm)
	add("encoding", o.Encoding)
	add("prefix", o.Prefix)
	add("template", o.Template)
	add("timestamp_header", o.TimestampHeader)
	add("timestamp_unit", o.TimestampUnit)
	add("id_header", o.IDHeader)
	add("signature_field", o.SignatureField)
	add("timestamp_field", o.TimestampField)
	add("separator", o.Separator)
	add("each", o.Each)
	add("event_id", o.EventID.text())
	add("type", cmp.Or(o.Type.Header, o.Type.Pointer, o.Type.Form, o.Type.Fixed))
	add("occurred_at", cmp.Or(o.OccurredAt.Pointer, o.OccurredAt.Unit))
	return set
}

// only refuses every option but the accepted ones.
func (o Options) only(name string, accepted []string) error {
	for _, g := range o.given() {
		if slices.Contains(accepted, g.field) {
			continue
		}
		takes := "no option"
		if len(accepted) > 0 {
			takes = "only " + strings.Join(accepted, ", ")
		}
		return &OptionError{Field: g.field, Value: g.value, Allowed: fmt.Sprintf("provider %s takes %s", name, takes)}
	}
	return nil
}

// tolerance returns the tolerance a scheme works with: 0 is off.
func (o Options) tolerance(standard time.Duration) time.Duration {
	switch {
	case o.Tolerance < 0:
		return 0
	case o.Tolerance == 0:
		return standard
	}
	return o.Tolerance
}

// oneOf returns the chosen value of an option with a fixed set of them.
func oneOf(field, value, standard string, allowed ...string) (string, error) {
	value = cmp.Or(value, standard)
	if !slices.Contains(allowed, value) {
		return "", &OptionError{Field: field, Value: value, Allowed: "must be one of " + strings.Join(allowed, ", ")}
	}
	return value, nil
}

// validate refuses a Field that names no place, or more than one.
func (f Field) validate(field string) error {
	return oneMember(field, map[string]string{"header": f.Header, "pointer": f.Pointer, "form": f.Form, "fixed": f.Fixed})
}

// validate refuses an EventID that names no place, or more than one.
func (e EventID) validate(field string) error {
	members := map[string]string{
		"header": e.Header, "pointer": e.Pointer, "form": e.Form, "join": strings.Join(e.Join, " "), "fields": strings.Join(e.Fields, " "),
	}
	if err := oneMember(field, members); err != nil {
		return err
	}
	if err := validatePlaces(field+".join", e.Join); err != nil {
		return err
	}
	if len(e.Optional) > 0 && len(e.Fields) == 0 {
		return &OptionError{Field: field + ".optional", Value: strings.Join(e.Optional, " "), Allowed: "only with fields"}
	}
	if err := validatePlaces(field+".fields", e.Fields); err != nil {
		return err
	}
	return validatePlaces(field+".optional", e.Optional)
}

// isZero tells whether no member is set.
func (e EventID) isZero() bool { return e.text() == "" }

// text is what is set, for messages.
func (e EventID) text() string {
	return cmp.Or(e.Header, e.Pointer, e.Form, strings.Join(slices.Concat(e.Join, e.Fields, e.Optional), " "))
}

// validate refuses a Clock without a place or with an unknown unit.
func (c Clock) validate(field string) error {
	if err := validatePointer(field+".pointer", c.Pointer); err != nil {
		return err
	}
	if c.Unit == "" {
		return nil
	}
	_, err := oneOf(field+".unit", c.Unit, "", string(seconds), string(milliseconds), string(rfc3339))
	return err
}

func oneMember(field string, members map[string]string) error {
	var names, set []string
	for name, value := range members {
		names = append(names, name)
		if value != "" {
			set = append(set, name)
		}
	}
	slices.Sort(names)
	slices.Sort(set)
	if len(set) != 1 {
		return &OptionError{Field: field, Value: strings.Join(set, " and "), Allowed: "exactly one of " + strings.Join(names, ", ")}
	}
	name, value := set[0], members[set[0]]
	switch name {
	case "pointer":
		return validatePointer(field+".pointer", value)
	case "header":
		return validateHeader(field+".header", value)
	}
	return nil
}

// validatePointer takes RFC 6901 pointers but the empty one: the whole body is
// no field of it.
func validatePointer(field, pointer string) error {
	ok := strings.HasPrefix(pointer, "/")
	for i := 0; ok && i < len(pointer); i++ {
		if pointer[i] == '~' {
			ok = i+1 < len(pointer) && (pointer[i+1] == '0' || pointer[i+1] == '1')
		}
	}
	if !ok {
		return &OptionError{Field: field, Value: pointer, Allowed: "must be a JSON pointer such as /data/id (~ is written ~0, / in a name ~1)"}
	}
	return nil
}

// validateHeader takes the names of header fields (RFC 9110, tokens).
func validateHeader(field, name string) error {
	token := func(c rune) bool {
		return c > ' ' && c < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !token(c) }) {
		return &OptionError{Field: field, Value: name, Allowed: "must be the name of a header, such as X-Signature"}
	}
	return nil
}
