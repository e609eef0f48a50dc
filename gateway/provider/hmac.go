package provider

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"net/http"
	"slices"
	"strings"
	"time"
)

// newHMAC builds from options what the other files of this package declare:
// any scheme that is an HMAC over a template.
func newHMAC(o Options) (*Provider, error) {
	s, err := o.scheme()
	if err != nil {
		return nil, err
	}
	id, signedID, err := o.id()
	if err != nil {
		return nil, err
	}
	kind, fallback, err := o.kind()
	if err != nil {
		return nil, err
	}
	if o.OccurredAt != (Clock{}) {
		if err := o.OccurredAt.validate("occurred_at"); err != nil {
			return nil, err
		}
	}
	if err := o.oneBody(); err != nil {
		return nil, err
	}
	for _, name := range []string{o.EventID.Header, o.Type.Header} {
		if name != "" {
			s.single = append(s.single, http.CanonicalHeaderKey(name))
		}
	}
	f := facts{id: id, kind: kind, fallback: fallback, occurred: o.OccurredAt}
	return &Provider{
		Name:        "hmac",
		Title:       "HMAC of your own",
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample: func(eventType, id string, now time.Time) *Request {
			return o.sample(kind, signedID, eventType, id, now)
		},
	}, nil
}

// scheme builds the declaration that the options spell out.
func (o Options) scheme() (*scheme, error) {
	algorithm, err := oneOf("algorithm", o.Algorithm, "sha256", "sha1", "sha256", "sha512")
	if err != nil {
		return nil, err
	}
	spelling, err := oneOf("encoding", o.Encoding, string(hexDigits), string(hexDigits), string(base64Std), string(base64URL))
	if err != nil {
		return nil, err
	}
	key, err := oneOf("secret_encoding", o.SecretEncoding, string(rawBytes), string(rawBytes), string(base64Std), string(hexDigits))
	if err != nil {
		return nil, err
	}
	timestampUnit, err := oneOf("timestamp_unit", o.TimestampUnit, string(seconds), string(seconds), string(milliseconds), string(rfc3339))
	if err != nil {
		return nil, err
	}
	signed, ok := parseTemplate(cmp.Or(o.Template, inBody))
	if !ok || !signed.has(inBody) {
		return nil, &OptionError{
			Field: "template", Value: o.Template,
			Allowed: "must contain {body}, and no other braces than those of " + placeholders,
		}
	}
	names, err := o.headerNames()
	if err != nil {
		return nil, err
	}
	s := &scheme{
		headers:  []headerNames{names},
		prefix:   o.Prefix,
		hash:     map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}[algorithm],
		encoding: encoding(spelling),
		template: signed,
		secret:   keySpelling{encoding: encoding(key)},
		unit:     unit(timestampUnit),
	}
	if o.SignatureField != "" {
		s.pairs = &pairs{separator: cmp.Or(o.Separator, ","), assign: "=", signature: o.SignatureField, timestamp: o.TimestampField}
	}
	if err := o.placeholders(signed); err != nil {
		return nil, err
	}
	s.tolerance = o.tolerance(standardTolerance)
	return s, nil
}

// headerNames are the headers of the scheme, in canonical form.
func (o Options) headerNames() (headerNames, error) {
	var names headerNames
	for _, h := range []struct {
		field, name string
		into        *string
		required    bool
	}{
		{"header", o.Header, &names.signature, true},
		{"timestamp_header", o.TimestampHeader, &names.timestamp, false},
		{"id_header", o.IDHeader, &names.id, false},
	} {
		if h.name == "" && !h.required {
			continue
		}
		if err := validateHeader(h.field, h.name); err != nil {
			return names, err
		}
		*h.into = http.CanonicalHeaderKey(h.name)
	}
	return names, nil
}

// placeholders refuses a template and its sources that do not fit together: a
// time that is sent but not signed protects from nothing.
func (o Options) placeholders(signed template) error {
	refuse := func(field, value, allowed string) error {
		return &OptionError{Field: field, Value: value, Allowed: allowed}
	}
	timed := signed.has(inTimestamp)
	switch {
	case o.SignatureField == "" && o.TimestampField != "":
		return refuse("timestamp_field", o.TimestampField, "only with signature_field, in a header that lists k=v pairs")
	case o.SignatureField == "" && o.Separator != "":
		return refuse("separator", o.Separator, "only with signature_field, in a header that lists k=v pairs")
	case strings.Contains(o.Separator, "="):
		return refuse("separator", o.Separator, "anything without =, which stands inside the pairs")
	case o.TimestampField != "" && o.TimestampField == o.SignatureField:
		return refuse("timestamp_field", o.TimestampField, "another name than signature_field")
	case o.TimestampField != "" && o.TimestampHeader != "":
		return refuse("timestamp_header", o.TimestampHeader, "at most one of timestamp_header and timestamp_field")
	case timed && o.TimestampField == "" && o.TimestampHeader == "":
		return refuse("template", o.Template, "with {ts}, set timestamp_header or timestamp_field")
	case !timed && cmp.Or(o.TimestampField, o.TimestampHeader) != "":
		return refuse("template", o.Template, "must contain {ts} when a timestamp is named: an unsigned time protects from nothing")
	case !timed && o.Tolerance != 0:
		return refuse("tolerance", o.Tolerance.String(), "only when the template contains {ts}")
	case !timed && o.TimestampUnit != "":
		return refuse("timestamp_unit", o.TimestampUnit, "only when the template contains {ts}")
	case signed.has(inID) && o.IDHeader == "":
		return refuse("template", o.Template, "with {id}, set id_header")
	case !signed.has(inID) && o.IDHeader != "":
		return refuse("id_header", o.IDHeader, "only when the template contains {id}; an unsigned id is event_id: {header: ...}")
	}
	return nil
}

// id returns the rule of the key, and the header of a signed id.
func (o Options) id() (keyRule, Field, error) {
	var signed Field
	if o.IDHeader != "" {
		signed = inHeader(o.IDHeader)
	}
	e := o.EventID
	if e.Header == "" && e.Pointer == "" && e.Form == "" && len(e.Fields) == 0 {
		if signed != (Field{}) {
			return verbatim(signed), signed, nil
		}
		return nil, signed, &OptionError{
			Field:   "event_id",
			Allowed: "required: say what makes two deliveries the same event, by one of header, pointer, form, fields",
		}
	}
	if err := e.validate("event_id"); err != nil {
		return nil, signed, err
	}
	if len(e.Fields) > 0 {
		return hashed(e.Fields...), signed, nil
	}
	return verbatim(e.field()), signed, nil
}

// field is the place of an id that is taken verbatim.
func (e EventID) field() Field {
	return Field{Header: http.CanonicalHeaderKey(e.Header), Pointer: e.Pointer, Form: e.Form}
}

// kind returns the place of the type and what stands in for it.
func (o Options) kind() (kind, fallback Field, err error) {
	if o.Type == (Field{}) {
		return at("/type"), fixed(unknownType), nil
	}
	if err := o.Type.validate("type"); err != nil {
		return Field{}, Field{}, err
	}
	if o.Type.Fixed != "" && (!clean(o.Type.Fixed) || len(o.Type.Fixed) > maxText) {
		return Field{}, Field{}, &OptionError{Field: "type.fixed", Value: o.Type.Fixed, Allowed: "at most 255 bytes without control characters"}
	}
	kind = o.Type
	kind.Header = http.CanonicalHeaderKey(kind.Header)
	return kind, Field{}, nil
}

// oneBody refuses rules that read the body both as a form and as JSON.
func (o Options) oneBody() error {
	form := cmp.Or(o.EventID.Form, o.Type.Form)
	pointer := cmp.Or(o.EventID.Pointer, strings.Join(o.EventID.Fields, " "), o.Type.Pointer, o.OccurredAt.Pointer)
	if form != "" && pointer != "" {
		return &OptionError{Field: "event_id", Value: form + " and " + pointer, Allowed: "form fields or JSON pointers, not both: a body is one of them"}
	}
	return nil
}

// sample makes a body in which everything stands where the options say.
func (o Options) sample(kind, signedID Field, eventType, id string, now time.Time) *Request {
	id = cmp.Or(id, freshID("evt_"))
	eventType = cmp.Or(eventType, "demo.created")
	d := newDraft()
	d.put(at("/data"), object{"object": "demo", "amount": 4200, "currency": "usd"})
	// Longer pointers last, so that none is covered by a shorter one.
	fields := slices.SortedFunc(slices.Values(o.EventID.Fields), func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, pointer := range fields {
		d.put(at(pointer), id)
	}
	d.put(o.EventID.field(), id)
	d.put(signedID, id)
	d.putTime(o.OccurredAt, now)
	d.put(kind, eventType)
	return d.request()
}
