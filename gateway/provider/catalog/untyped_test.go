package catalog

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// unusual returns values that may appear anywhere in a delivery without making it unusable,
// except where the event's id is read.
func unusual() []any {
	return []any{absent{}, nil, "", 7, 1.5, true, []any{}, map[string]any{}, "made-up", strings.Repeat("x", maxKey+1), "a\u0001b"}
}

// Only a missing or unusable id is fatal. If anything else in a delivery is missing or of
// another kind, the delivery still yields an event with a type.
func TestOnlyAnIDIsFatal(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := deliveriesOf(t, name)
			for _, c := range of.cases {
				if c.kind != "accepted" {
					continue
				}
				p, _, r := c.received(t, name)
				for _, at := range placesOf(r) {
					for _, value := range unusual() {
						changed, err := at.with(r, value)
						require.NoError(t, err)
						events, err := p.Events(changed)
						if err != nil {
							require.True(t, needed(of.samples.Needs, at), "%s: %v at %s: %v", c.name, value, at, err)
							break
						}
						for _, e := range events {
							require.NotEmpty(t, e.Type, "%s: %v at %s", c.name, value, at)
							require.NotEmpty(t, e.ID, "%s: %v at %s", c.name, value, at)
							require.LessOrEqual(t, len(e.Type), maxKey)
							require.LessOrEqual(t, len(e.ID), maxKey)
						}
					}
				}
			}
		})
	}
}

// needed reports whether an event requires the value at a place, or a value inside it.
func needed(places []string, at place) bool {
	return slices.ContainsFunc(places, func(needed string) bool {
		return needed == at.general() || strings.HasPrefix(needed, at.general()+"/")
	})
}

// A signed delivery without a type is accepted, and so is a delivery of a kind that did not
// exist when the provider was declared.
func TestTypesAreNotRequired(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := deliveriesOf(t, name).samples
			p := provide(t, name, configured(t)[name])
			for _, value := range []any{absent{}, nil, "", 1.5, []any{"x"}, map[string]any{"x": 1}, strings.Repeat("x", maxKey+1), "made.up"} {
				r := p.Sample("", "evt_1", prooftest.Now())
				for _, at := range of.Type {
					var err error
					r, err = at.with(r, value)
					require.NoError(t, err)
				}
				_, text := value.(string)
				_, gone := value.(absent)
				if name == "aws-sns" && !text || name == "adyen" && !text && !gone {
					continue // the type is signed, and must be a string
				}
				r.URL = prooftest.URL("")
				require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
				event := eventOf(t, p, r)
				require.NotEmpty(t, event.ID, "%v", value)
				require.NotEmpty(t, event.Type, "%v", value)
				if gone && of.Type != nil {
					require.Equal(t, cmp.Or(of.Untyped, provider.UnknownType), event.Type)
				}
			}
		})
	}
}

// A delivery whose id is in a header is accepted even if its type is not where the configuration
// says. The sender's ping may have no body, or a body in another format.
func TestATypeThatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"basic", "hmac", "jwt", "token", "standard-webhooks", "svix"} {
		for _, kind := range []provider.Field{{}, {Pointer: "/event"}, {Form: "event"}, {Header: "X-Event"}} {
			o := configured(t)[name]
			o.Type = kind
			if !strings.Contains(name, "webhooks") && name != "svix" {
				o.EventID = provider.EventID{Header: "X-Event-Id"}
			}
			p := provide(t, name, o)
			for contentType, body := range map[string]string{
				"text/plain": "ping", "application/json": "", "text/xml": "<ping/>", "multipart/form-data; boundary=x": "--y", "application/x-www-form-urlencoded": "%zz",
			} {
				r := &provider.Request{Method: "POST", URL: prooftest.URL(""), Header: http.Header{}, Body: []byte(body)}
				r.Header.Set("Content-Type", contentType)
				r.Header.Set("X-Event-Id", "evt_1")
				require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
				events, err := p.Events(r)
				require.NoError(t, err, "%s: %v in %q", name, kind, body)
				require.Len(t, events, 1)
				require.Equal(t, provider.UnknownType, events[0].Type)
				require.NotEmpty(t, events[0].ID)
			}
		}
	}
}
