package provider

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"net/http"
	"strings"
)

// hmacOptions are the options about the signature.
var hmacOptions = []string{
	"tolerance", "secret_encoding", "header", "algorithm", "encoding", "prefix", "template", "timestamp_header",
	"timestamp_unit", "id_header", "signature_field", "timestamp_field", "separator",
}

// newHMAC builds from options what the other files of this package declare:
// any scheme that is an HMAC over a template.
func newHMAC(o Options) (*Provider, error) {
	s, err := hmacScheme(o)
	if err != nil {
		return nil, err
	}
	var signedID field
	if o.IDHeader != "" {
		signedID = inHeader(o.IDHeader)
	}
	g, err := newOwnEvents(o, signedID)
	if err != nil {
		return nil, err
	}
	s.single = g.headers()
	return &Provider{
		Name:  "hmac",
		Title: "HMAC of your own",
		About: About{
			Confirmed: Confirmed,
			Signing: "HMAC with SHA-1, SHA-256 or SHA-512 over a template of body, time, id, method and URL, in a header: alone, " +
				"behind a prefix, or as pairs of key and value. All of it is configured.",
			KeyRule: "What `event_id` says: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
			Setup: []string{
				"Let the sender call {url} and sign with a secret of at least 32 random bytes.",
				"Describe its signature with `header`, `algorithm`, `encoding`, `prefix` and `template`.",
				"Say with `event_id` what makes two deliveries the same event.",
			},
			Notes: []string{
				"If the sender signs a time, put `{ts}` into the template: only then is an old request refused.",
				"An id in a header that is not signed can be changed by whoever sees a request. Prefer one in the body.",
			},
		},
		Verify:      s.verify,
		Events:      g.events,
		Methods:     []string{http.MethodPost},
		SignsURL:    s.template.has(inURL),
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      g.sample,
		UnsignedID:  g.unsignedID() && !s.template.has(inTimestamp),
		ReplayToken: s.replayToken,
	}, nil
}

// hmacScheme builds the declaration that the options spell out.
func hmacScheme(o Options) (*scheme, error) {
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
	var numbered bool
	o.Header, numbered = strings.CutSuffix(o.Header, "-{n}")
	names, err := hmacHeaders(o)
	if err != nil {
		return nil, err
	}
	s := &scheme{
		headers:  []headerNames{names},
		numbered: numbered,
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
	if err := checkPlaceholders(o, signed); err != nil {
		return nil, err
	}
	s.tolerance = tolerance(o, standardTolerance)
	return s, nil
}

// hmacHeaders are the headers of the scheme, in canonical form.
func hmacHeaders(o Options) (headerNames, error) {
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

// checkPlaceholders refuses a template and its sources that do not fit together: a
// time that is sent but not signed protects from nothing.
func checkPlaceholders(o Options, signed template) error {
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
