package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// given is an option that has a value.
type given struct{ field, value string }

// givenIn lists the options that have a value, by their configuration name.
func givenIn(o provider.Options) []given {
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
	add("app_ids", strings.Join(o.AppIDs, " "))
	add("tenants", strings.Join(o.Tenants, " "))
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
	add("event_id", o.EventID.Text())
	add("dedup.ignore", strings.Join(o.Ignore, " "))
	add("type", cmp.Or(o.Type.Header, o.Type.Pointer, o.Type.Form, o.Type.Fixed))
	add("occurred_at", cmp.Or(o.OccurredAt.Pointer, o.OccurredAt.Unit))
	if o.Answer != nil {
		set = append(set, given{"answer", "a mapping"})
	}
	if o.Probe != nil {
		set = append(set, given{"probe", "a mapping"})
	}
	return set
}

// options lists the accepted options in alphabetical order: the provider's own, and those that
// override the keys of its events, which every provider accepts.
func (e entry) options() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.accepts, proof.OverrideOptions))))
}

// acceptOnly returns an *OptionError for the first option that the provider does not accept.
func (e entry) acceptOnly(o provider.Options) error {
	accepted := e.options()
	for _, g := range givenIn(o) {
		if !slices.Contains(accepted, g.field) {
			return &provider.OptionError{Field: g.field, Value: g.value, Allowed: fmt.Sprintf("provider %s accepts only %s", e.name, strings.Join(accepted, ", "))}
		}
	}
	return nil
}
