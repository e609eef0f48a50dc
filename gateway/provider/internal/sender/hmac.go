package sender

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"net/http"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// HmacOptions lists the options of provider hmac that describe the signature.
var HmacOptions = []string{
	"tolerance", "secret_encoding", "header", "algorithm", "encoding", "prefix", "template", "timestamp_header",
	"timestamp_unit", "id_header", "signature_field", "timestamp_field", "separator",
}

// HMAC builds the provider that the options describe. Its senders sign with an HMAC over a
// template. Many other files in this package declare such a scheme for one sender.
func HMAC(o provider.Options) (*provider.Provider, error) {
	s, err := hmacScheme(o)
	if err != nil {
		return nil, err
	}
	var signedID proof.Field
	if o.IDHeader != "" {
		signedID = proof.InHeader(o.IDHeader)
	}
	g, err := proof.NewOwnEvents(o, signedID)
	if err != nil {
		return nil, err
	}
	s.Single = g.Headers()
	token := s.ReplayToken
	if o.Type.Header != "" {
		token = proof.TokenByType(token, o.Type.Header)
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:  "hmac",
		Title: "Custom HMAC",
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Configured,
				EventID:     provider.Configured,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Configured,
				Resend:      provider.Configured,
			},
			Signing: "HMAC with SHA-1, SHA-256 or SHA-512 over a template of body, time, id, method and URL. The signature is in a " +
				"header: alone, after a prefix, or as pairs of key and value. All of this is configurable.",
			KeyRule: "The configured `event_id`: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
			Setup: []string{
				"Configure the sender to call {url} and sign with a secret of at least 32 random bytes.",
				"Describe the signature with `header`, `algorithm`, `encoding`, `prefix` and `template`.",
				"Set `event_id` to the location of the event's id.",
			},
			Notes: []string{
				"If the sender signs a time, put `{ts}` into the template: only then are old requests refused.",
				"Anyone who sees a request can change an id in an unsigned header. Prefer an id in the body.",
			},
		},
		Events:      g.Events,
		SignsURL:    s.Template.Has(proof.InURL),
		IsSignature: s.IsSignature,
		SecretAs:    s.Secret.SecretAs,
		Sample:      g.Sample,
		UnsignedID:  g.UnsignedID() && !s.Template.Has(proof.InTimestamp),
		ReplayToken: token,
	}), nil
}

// hmacScheme builds the scheme that the options describe.
func hmacScheme(o provider.Options) (*proof.Scheme, error) {
	algorithm, err := proof.OneOf("algorithm", o.Algorithm, "sha256", "sha1", "sha256", "sha512")
	if err != nil {
		return nil, err
	}
	spelling, err := proof.OneOf("encoding", o.Encoding, string(proof.Hex), string(proof.Hex), string(proof.Base64), string(proof.Base64URL))
	if err != nil {
		return nil, err
	}
	key, err := proof.OneOf("secret_encoding", o.SecretEncoding, string(proof.Raw), string(proof.Raw), string(proof.Base64), string(proof.Hex))
	if err != nil {
		return nil, err
	}
	timestampUnit, err := proof.OneOf("timestamp_unit", o.TimestampUnit, string(proof.Seconds), string(proof.Seconds), string(proof.Milliseconds), string(proof.RFC3339))
	if err != nil {
		return nil, err
	}
	signed, ok := proof.ParseTemplate(cmp.Or(o.Template, proof.InBody))
	if !ok || !signed.Has(proof.InBody) {
		return nil, &provider.OptionError{
			Field: "template", Value: o.Template,
			Allowed: "must contain {body}, and no braces other than those of " + proof.Placeholders,
		}
	}
	var numbered bool
	o.Header, numbered = strings.CutSuffix(o.Header, "-{n}")
	names, err := hmacHeaders(o)
	if err != nil {
		return nil, err
	}
	s := &proof.Scheme{
		Headers:  []proof.HeaderNames{names},
		Numbered: numbered,
		Prefix:   o.Prefix,
		Hash:     map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}[algorithm],
		Encoding: proof.Encoding(spelling),
		Template: signed,
		Secret: proof.KeySpelling{Encoding: proof.Encoding(key), Readings: proof.NewReadings(
			proof.KeySpelling{Encoding: proof.Raw}, proof.KeySpelling{Encoding: proof.Base64}, proof.KeySpelling{Encoding: proof.Hex},
		)},
		Unit: proof.Unit(timestampUnit),
	}
	if o.SignatureField != "" {
		s.Pairs = &proof.Pairs{Separator: cmp.Or(o.Separator, ","), Assign: "=", Signature: o.SignatureField, Timestamp: o.TimestampField}
	}
	if err := checkPlaceholders(o, signed); err != nil {
		return nil, err
	}
	s.Tolerance = proof.Tolerance(o, proof.StandardTolerance)
	return s, nil
}

// hmacHeaders returns the scheme's headers, in canonical form.
func hmacHeaders(o provider.Options) (proof.HeaderNames, error) {
	var names proof.HeaderNames
	for _, h := range []struct {
		field, name string
		into        *string
		required    bool
	}{
		{"header", o.Header, &names.Signature, true},
		{"timestamp_header", o.TimestampHeader, &names.Timestamp, false},
		{"id_header", o.IDHeader, &names.ID, false},
	} {
		if h.name == "" && !h.required {
			continue
		}
		if err := proof.ValidateHeader(h.field, h.name); err != nil {
			return names, err
		}
		*h.into = http.CanonicalHeaderKey(h.name)
	}
	return names, nil
}

// checkPlaceholders refuses a template, headers and fields that do not fit together. For example, a
// time that is sent but not signed offers no protection.
func checkPlaceholders(o provider.Options, signed proof.Template) error {
	refuse := func(field, value, allowed string) error {
		return &provider.OptionError{Field: field, Value: value, Allowed: allowed}
	}
	timed := signed.Has(proof.InTimestamp)
	switch {
	case o.SignatureField == "" && o.TimestampField != "":
		return refuse("timestamp_field", o.TimestampField, "requires signature_field, for a header that lists k=v pairs")
	case o.SignatureField == "" && o.Separator != "":
		return refuse("separator", o.Separator, "requires signature_field, for a header that lists k=v pairs")
	case strings.Contains(o.Separator, "="):
		return refuse("separator", o.Separator, "must not contain =, which is used inside the pairs")
	case o.TimestampField != "" && o.TimestampField == o.SignatureField:
		return refuse("timestamp_field", o.TimestampField, "must differ from signature_field")
	case o.TimestampField != "" && o.TimestampHeader != "":
		return refuse("timestamp_header", o.TimestampHeader, "at most one of timestamp_header and timestamp_field")
	case timed && o.TimestampField == "" && o.TimestampHeader == "":
		return refuse("template", o.Template, "with {ts}, set timestamp_header or timestamp_field")
	case !timed && cmp.Or(o.TimestampField, o.TimestampHeader) != "":
		return refuse("template", o.Template, "must contain {ts} if a timestamp is configured: an unsigned time protects against nothing")
	case !timed && o.Tolerance != 0:
		return refuse("tolerance", o.Tolerance.String(), "requires {ts} in the template")
	case !timed && o.TimestampUnit != "":
		return refuse("timestamp_unit", o.TimestampUnit, "requires {ts} in the template")
	case signed.Has(proof.InID) && o.IDHeader == "":
		return refuse("template", o.Template, "with {id}, set id_header")
	case !signed.Has(proof.InID) && o.IDHeader != "":
		return refuse("id_header", o.IDHeader, "requires {id} in the template; for an unsigned id use event_id: {header: ...}")
	}
	return nil
}
