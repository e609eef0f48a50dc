package catalog

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// Every provider's key can be overridden. The events stay the same except for their ids, which
// depend on everything that is not ignored.
func TestEveryKeyCanBeOverridden(t *testing.T) {
	t.Parallel()
	for _, e := range entries() {
		if slices.Contains(e.accepts, "event_id") {
			continue // generic: options alone define the key
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			o := configured(t)[e.name]
			documented := provide(t, e.name, o)
			o.Ignore = []string{"/ignored"}
			p := provide(t, e.name, o)
			r := signedSample(t, p, "", "evt_1")
			want, got := eventOf(t, documented, r), eventOf(t, p, r)
			require.True(t, strings.HasPrefix(got.ID, "sha256:"), got.ID)
			require.Equal(t, got.ID, eventOf(t, p, r).ID)
			want.ID, got.ID = "", ""
			require.Equal(t, want, got)
			require.NotEqual(t, eventOf(t, p, r).ID, eventOf(t, p, signedSample(t, p, "hooklatch.made.up", "evt_2")).ID)
		})
	}
}

// Many senders name the type in a header, and some send one body under several types. Such
// deliveries are separate events, even for a source that hashes the body.
func TestIgnoredFieldsLeaveTheTypesOfOneBodyApart(t *testing.T) {
	t.Parallel()
	inHeaders := map[string][]place{"token": {"header:X-Kind"}, "basic": {"header:X-Kind"}, "hmac": {"header:X-Kind"}, "jwt": {"header:X-Kind"}}
	for _, e := range entries() {
		for _, at := range deliveriesOf(t, e.name).samples.Type {
			if strings.HasPrefix(string(at), "header:") {
				inHeaders[e.name] = append(inHeaders[e.name], at)
			}
		}
	}
	require.Contains(t, inHeaders, "shopify")
	require.Contains(t, inHeaders, "github")
	for name, places := range inHeaders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := configured(t)[name]
			o.EventID, o.Ignore = provider.EventID{}, []string{"/ignored"}
			if places[0] == "header:X-Kind" {
				o.Type = provider.Field{Header: "X-Kind"}
			}
			p := provide(t, name, o)
			r := signedSample(t, p, "", "evt_1")
			only := func(r *provider.Request) provider.Event {
				events, err := p.Events(r)
				require.NoError(t, err)
				require.Len(t, events, 1)
				return events[0]
			}
			event := only(r)
			require.Equal(t, event.ID, only(r).ID)
			for _, at := range places {
				changed, err := at.with(r, "another")
				require.NoError(t, err)
				other := only(changed)
				require.Equal(t, r.Body, changed.Body)
				// GitLab's header is read only if the body has no type.
				require.Equal(t, name != "gitlab", event.Type != other.Type)
				require.Equal(t, event.Type != other.Type, event.ID != other.ID)
			}
		})
	}
}

// The key of an event whose type is in its body is a hash of the body alone. A type in a header
// becomes part of the key, but does not make the id unsigned.
func TestIgnoredFieldsHashTheBodyOfTypesInBodies(t *testing.T) {
	t.Parallel()
	r := &provider.Request{Method: http.MethodPost, Header: http.Header{"X-Kind": {"sale"}}, Body: []byte(`{"id":"evt_1","type":"a","ignored":1}`)}
	keyOf := func(name string, o provider.Options) string {
		o.Ignore = []string{"/ignored"}
		p := provide(t, name, o)
		require.False(t, p.UnsignedID, name)
		events, err := p.Events(r)
		require.NoError(t, err)
		require.Len(t, events, 1)
		return events[0].ID
	}
	hashed := keyOf("stripe", provider.Options{})
	hmac := provider.Options{Header: "X-Signature"}
	require.Equal(t, hashed, keyOf("hmac", hmac))
	hmac.Type = provider.Field{Header: "X-Kind"}
	require.NotEqual(t, hashed, keyOf("hmac", hmac))
	hmac.Type = provider.Field{Header: "X-Missing"}
	require.Equal(t, hashed, keyOf("hmac", hmac))
}

// A HubSpot workflow that runs twice sends the same body twice. The two deliveries are separate
// events, unless the source sets dedup.ignore.
func TestEqualWebhooksOfHubSpotsWorkflowsAreEvents(t *testing.T) {
	t.Parallel()
	r := &provider.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(`{"email":"ada@example.com","stage":"customer"}`)}
	keys := func(o provider.Options) (first, second string) {
		p := provide(t, "hubspot", o)
		for _, key := range []*string{&first, &second} {
			events, err := p.Events(r)
			require.NoError(t, err)
			require.Len(t, events, 1)
			*key = events[0].ID
		}
		return first, second
	}
	first, second := keys(provider.Options{})
	require.NotEqual(t, first, second)
	first, second = keys(provider.Options{Ignore: []string{"/attemptNumber"}})
	require.Equal(t, first, second)
}

// SendGrid reportedly gives one event several ids. Sources can therefore leave the id out of
// the key.
func TestSendGridKeyWithoutItsID(t *testing.T) {
	t.Parallel()
	p := provide(t, "sendgrid", provider.Options{Ignore: []string{"/sg_event_id"}})
	keys := func(body string) []string {
		events, err := p.Events(&provider.Request{Body: []byte(body)})
		require.NoError(t, err)
		ids := make([]string, len(events))
		for i, e := range events {
			ids[i] = e.ID
		}
		return ids
	}
	first := keys(`[{"email":"a@example.com","event":"open","timestamp":1,"sg_event_id":"A"},{"email":"a@example.com","event":"open","timestamp":2,"sg_event_id":"B"}]`)
	require.NotEqual(t, first[0], first[1])
	require.Equal(t, []string{first[1], first[0]},
		keys(`[{"sg_event_id":"C","email":"a@example.com","event":"open","timestamp":2},{"email":"a@example.com","event":"open","timestamp":1,"sg_event_id":"D"}]`))
}

func TestOverridingEventID(t *testing.T) {
	t.Parallel()
	body := `{"id":"evt_1","type":"invoice.paid","data":{"object":{"id":"in_1"}}}`
	p := provide(t, "stripe", provider.Options{EventID: provider.EventID{Join: []string{"/type", "/data/object/id"}}})
	events, err := p.Events(&provider.Request{Body: []byte(body)})
	require.NoError(t, err)
	require.Equal(t, "invoice.paid:in_1", events[0].ID)
	require.False(t, p.UnsignedID)

	// A header is the same for all events in a delivery.
	p = provide(t, "line", provider.Options{EventID: provider.EventID{Header: "X-Line-Request-Id"}})
	r := &provider.Request{Body: []byte(`{"events":[{"webhookEventId":"a","type":"x"},{"webhookEventId":"b","type":"x"}]}`)}
	r.Header = http.Header{"X-Line-Request-Id": {"r1"}}
	events, err = p.Events(r)
	require.NoError(t, err)
	require.Equal(t, []string{"r1:/events/0", "r1:/events/1"}, []string{events[0].ID, events[1].ID})
	require.True(t, p.UnsignedID)

	// An id can be a form's field or a GET's parameter.
	p = provide(t, "twilio", provider.Options{EventID: provider.EventID{Form: "CallSid"}})
	r = form("CallSid=CA1&CallStatus=completed")
	events, err = p.Events(r)
	require.NoError(t, err)
	require.Equal(t, "CA1", events[0].ID)
	events, err = p.Events(&provider.Request{Method: "GET", URL: prooftest.URL("https://h.example/x?CallSid=CA2&CallStatus=completed")})
	require.NoError(t, err)
	require.Equal(t, "CA2", events[0].ID)

	_, err = p.Events(form("MessageSid=SM1"))
	require.Equal(t, &provider.EventError{Message: "form field CallSid is missing or empty"}, err)
}

func TestOverridesThatAreRefused(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]provider.Options{
		"event_id":         {EventID: provider.EventID{Header: "X-Id", Pointer: "/id"}},
		"event_id.pointer": {EventID: provider.EventID{Pointer: "id"}},
		"dedup.ignore":     {Ignore: []string{"sg_event_id"}},
	} {
		_, err := New("sendgrid", o)
		var refused *provider.OptionError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, field, refused.Field)
	}
	_, err := New("sendgrid", provider.Options{EventID: provider.EventID{Pointer: "/id"}, Ignore: []string{"/x"}})
	require.ErrorContains(t, err, "cannot be combined with event_id")
	require.Equal(t, []string{"event_id", "dedup.ignore"}, proof.OverrideOptions)
}

// Every source that defines its own events can read a multipart form's fields and files by
// name.
func TestGenericSourcesReadFormsInSeveralParts(t *testing.T) {
	t.Parallel()
	body := func(id, file, sent string) string {
		part := func(disposition, text string) string {
			return "--xx\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + text + "\r\n"
		}
		return part(`name="id"`, id) + part(`name="kind"`, "inbound") + part(`name="sent"`, sent) + part(`name="mail"; filename="a.eml"`, file) + "--xx--\r\n"
	}
	for _, e := range entries() {
		if !slices.Contains(e.accepts, "event_id") || !slices.Contains(e.accepts, "type") || e.name == "standard-webhooks" {
			continue
		}
		for name, c := range map[string]struct {
			key         provider.EventID
			same, other string
		}{
			"field":        {provider.EventID{Form: "id"}, body("1", "other", "2"), body("2", "hello", "1")},
			"file":         {provider.EventID{Form: "mail"}, body("2", "hello", "2"), body("1", "other", "1")},
			"hash of both": {provider.EventID{Fields: []string{"form:id", "form:mail"}}, body("1", "hello", "2"), body("1", "other", "1")},
		} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := configured(t)[e.name]
				o.EventID, o.Type, o.OccurredAt = c.key, provider.Field{Form: "kind"}, provider.Clock{}
				p := provide(t, e.name, o)
				one := func(body string) provider.Event {
					events, err := p.Events(&provider.Request{Body: []byte(body), Header: http.Header{"Content-Type": {"multipart/form-data; boundary=xx"}}})
					require.NoError(t, err)
					require.Len(t, events, 1)
					return events[0]
				}
				want := one(body("1", "hello", "1"))
				require.Equal(t, "inbound", want.Type)
				require.Equal(t, want.ID, one(c.same).ID)
				require.NotEqual(t, want.ID, one(c.other).ID)
				_, err := p.Events(&provider.Request{Body: []byte("--xx\r\n"), Header: http.Header{"Content-Type": {"multipart/form-data; boundary=xx"}}})
				require.ErrorContains(t, err, "the body is not a form in several parts")
			})
		}
	}
}

// A form may have a field without a name. It is still read as a form.
func TestAFormWithAnUnnamedFieldHasAKey(t *testing.T) {
	t.Parallel()
	p := provide(t, "token", provider.Options{Ignore: []string{"/attempt"}})
	one, again, other := onlyID(t, p, form("=1&a=2&attempt=1")), onlyID(t, p, form("a=2&attempt=2&=1")), onlyID(t, p, form("=3&a=2"))
	require.NotEmpty(t, one)
	require.Equal(t, one, again)
	require.NotEqual(t, one, other)
}
