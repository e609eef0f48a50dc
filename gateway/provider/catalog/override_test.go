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

// The key of every provider can be overridden: the events stay the same but for
// their ids, which depend on all that is not ignored.
func TestEveryKeyCanBeOverridden(t *testing.T) {
	t.Parallel()
	for _, e := range entries() {
		if slices.Contains(e.accepts, "event_id") {
			continue // which have no key of their own
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

// SendGrid is said to give one event several ids.
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

	// A header is the same for all events of a delivery.
	p = provide(t, "line", provider.Options{EventID: provider.EventID{Header: "X-Line-Request-Id"}})
	r := &provider.Request{Body: []byte(`{"events":[{"webhookEventId":"a","type":"x"},{"webhookEventId":"b","type":"x"}]}`)}
	r.Header = http.Header{"X-Line-Request-Id": {"r1"}}
	events, err = p.Events(r)
	require.NoError(t, err)
	require.Equal(t, []string{"r1:/events/0", "r1:/events/1"}, []string{events[0].ID, events[1].ID})
	require.True(t, p.UnsignedID)

	// The fields of a form, and those of a GET.
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
	require.ErrorContains(t, err, "only without event_id")
	require.Equal(t, []string{"event_id", "dedup.ignore"}, proof.OverrideOptions)
}
