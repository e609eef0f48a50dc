package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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

	// The rest describes a scheme of one's own: provider hmac.

	// Header carries the signature. Required.
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

	// EventID says what makes two deliveries the same event. Required, unless
	// the id is signed (IDHeader).
	EventID EventID `yaml:"event_id,omitempty"`
	// Type says where the event's type stands. Default: /type of a JSON body
	// where there is one, else "unknown". Also for standard-webhooks.
	Type Field `yaml:"type,omitempty"`
	// OccurredAt says where the time of the event stands. Default: nowhere.
	// Also for standard-webhooks.
	OccurredAt Clock `yaml:"occurred_at,omitempty"`
}

// Field is where one text of a delivery stands. Exactly one of its members is
// set.
type Field struct {
	Header  string `yaml:"header,omitempty"`  // name of a request header
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer (RFC 6901) into the body
	Form    string `yaml:"form,omitempty"`    // field of a form body
	Fixed   string `yaml:"fixed,omitempty"`   // this text; not for ids
}

// EventID is where the id of an event stands, or what it is made of. Exactly
// one of its members is set.
type EventID struct {
	Header  string `yaml:"header,omitempty"`
	Pointer string `yaml:"pointer,omitempty"`
	Form    string `yaml:"form,omitempty"`
	// Fields are JSON pointers to what does not change when the event is sent
	// again. The id is a hash of what stands there, whatever its white space
	// and the order of its keys. All of them must be present.
	Fields []string `yaml:"fields,omitempty"`
}

// Clock is where a time stands.
type Clock struct {
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer into the body
	// Unit is s, ms or rfc3339. Default: rfc3339 for a JSON string, ms for a
	// number from 1e11 on, else s.
	Unit string `yaml:"unit,omitempty"`
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
	add("event_id", cmp.Or(o.EventID.Header, o.EventID.Pointer, o.EventID.Form, strings.Join(o.EventID.Fields, " ")))
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
	members := map[string]string{"header": e.Header, "pointer": e.Pointer, "form": e.Form, "fields": strings.Join(e.Fields, " ")}
	if err := oneMember(field, members); err != nil {
		return err
	}
	for i, pointer := range e.Fields {
		if err := validatePointer(field+".fields["+strconv.Itoa(i)+"]", pointer); err != nil {
			return err
		}
		if slices.Contains(e.Fields[:i], pointer) {
			return &OptionError{Field: field + ".fields", Value: pointer, Allowed: "every field once"}
		}
	}
	return nil
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
