package proof

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// statuses returns the rule for a delivery with nested lists, in WhatsApp's shape.
func statuses() EventRule {
	status := Facts{
		ID: Composite(At("/id"), At("/status")), Kind: At("/status"), Version: At("/version").Up(3),
		Occurred: Clock{Pointer: "/time"}.Up(2),
	}
	message := Facts{ID: Verbatim(At("/id")), Kind: Fixed("message"), Occurred: Clock{Pointer: "/at"}}
	return Each("/entry", Each("/changes", AllOf(
		EachIfAny("/value/messages", message.Of),
		EachIfAny("/value/statuses", status.Of),
	)))
}

func request(body string) *provider.Request { return &provider.Request{Body: []byte(body)} }

func TestEachFindsNestedItemsInOrder(t *testing.T) {
	t.Parallel()
	r := request(`{"version":"v1","entry":[
		{"time":1767225600,"changes":[{"value":{"statuses":[{"id":"a","status":"sent"}, {"id":"a","status":"read"} ]}},{"value":{"messages":null}}]},
		{"changes":[{"value":{"statuses":[{"id":"b","status":"sent"}],"messages":[ {"id":"m","at":1767225601}]}}]}, {"changes":[]}
	]}`)
	events, err := statuses().Events(r)
	require.NoError(t, err)
	at := time.Unix(1767225600, 0).UTC()
	require.Equal(t, []provider.Event{
		{ID: "a:sent", Type: "sent", APIVersion: "v1", OccurredAt: at, Item: "/entry/0/changes/0/value/statuses/0", Part: []byte(`{"id":"a","status":"sent"}`)},
		{ID: "a:read", Type: "read", APIVersion: "v1", OccurredAt: at, Item: "/entry/0/changes/0/value/statuses/1", Part: []byte(`{"id":"a","status":"read"}`)},
		{ID: "m", Type: "message", OccurredAt: at.Add(time.Second), Item: "/entry/1/changes/0/value/messages/0", Part: []byte(`{"id":"m","at":1767225601}`)},
		{ID: "b:sent", Type: "sent", APIVersion: "v1", Item: "/entry/1/changes/0/value/statuses/0", Part: []byte(`{"id":"b","status":"sent"}`)},
	}, events)
}

func TestEachRefuses(t *testing.T) {
	t.Parallel()
	for body, message := range map[string]string{
		`{}`:                          "the body has no list of events at /entry",
		`{"entry":null}`:              "/entry is not a list of events",
		`{"entry":{"0":{}}}`:          "/entry is not a list of events",
		`{"entry":[{}]}`:              "/entry/0: the body has no list of events at /changes",
		`{"entry":[{"changes":"x"}]}`: "/entry/0: /changes is not a list of events",
		`{"entry":[{"changes":[{}]},`: "the body is not JSON",
		``:                            "the body is empty; JSON is expected",
		`{"entry":[{"changes":[{"value":{"statuses":[{"id":"a","status":"x"},{"status":"x"}]}}]}]}`: "/entry/0/changes/0/value/statuses/1: /id is missing or empty",
	} {
		events, err := statuses().Events(request(body))
		require.EqualError(t, err, message, body)
		require.IsType(t, &provider.EventError{}, err)
		require.Nil(t, events, "a refused delivery has no events")
	}
	for _, body := range []string{`{"entry":[]}`, `{"entry":[{"changes":[{"value":{}}, {}]}]}`} {
		events, err := statuses().Events(request(body))
		require.NoError(t, err)
		require.Empty(t, events)
	}
}

// TestEachIsLinear reads a batch for which a scan of the body per item would
// take minutes.
func TestEachIsLinear(t *testing.T) {
	t.Parallel()
	r := batch(50_000)
	events, err := statuses().Events(r)
	require.NoError(t, err)
	require.Len(t, events, 50_000)
	require.Equal(t, "wamid.49999:delivered", events[49_999].ID)
	require.Equal(t, "v1", events[49_999].APIVersion)
	require.False(t, events[49_999].OccurredAt.IsZero())
}

func BenchmarkEach(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r, rule := batch(n), statuses()
			b.SetBytes(int64(len(r.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rule.Events(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// batch returns a delivery with n statuses, followed by a member that the rule reads for each
// status.
func batch(n int) *provider.Request {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"wamid.%d","status":"delivered","recipient_id":"16505551234","timestamp":"1767225600"}`, i)
	}
	return request(`{"entry":[{"changes":[{"value":{"statuses":[` + strings.Join(items, ",") + `]}}],"time":1767225600}],"version":"v1"}`)
}

func TestFieldsOfOuterItems(t *testing.T) {
	t.Parallel()
	rule := Each("/a", Each("/b", Facts{ID: Hashed(At("/k").Up(1), At("/k").Up(2), At("")), Kind: At("/k").Up(9)}.Of))
	first, err := rule.Events(request(`{"a":[{"b":[1,2,1],"k":"x"}],"k":"y"}`))
	require.NoError(t, err)
	require.Equal(t, first[0].ID, first[2].ID)
	require.NotEqual(t, first[0].ID, first[1].ID)
	require.Equal(t, "y", first[0].Type, "Up stops at the body")
	other, err := rule.Events(request(`{"a":[{"b":[1],"k":"y"}],"k":"x"}`))
	require.NoError(t, err)
	require.NotEqual(t, first[0].ID, other[0].ID, "each level is a different place")
	_, err = rule.Events(request(`{"a":[{"b":[1]}],"k":"x"}`))
	require.EqualError(t, err, "/a/0/b/0: the body has nothing at ../k, which is part of the event id")
}

// FuzzEach extracts events from any JSON. Each event's Part must be the value in the body to which
// the event's Item points.
func FuzzEach(f *testing.F) {
	f.Add(`{"entry":[{"changes":[{"value":{"statuses":[{"id":"a","status":"b"}],"messages":[]}}]}]}`)
	f.Add(`{"entry":[{"changes":[{"value":{"statuses":[{"id":1,"status":"b"}, {"id":"\ud800"}]}}]}],"entry":[]}`)
	f.Add(` [ {"id":"a"} , [1] ,{"id":"b","id":{}}]`)
	f.Add(`[[{"id":"x"}],[],[{"id":-7}]]`)
	item := Facts{ID: Verbatim(At("/id")), Kind: At("/status"), Fallback: Fixed(UnknownType)}
	rules := []EventRule{statuses(), Each("", item.Of), Each("", Each("", item.Of)), EachIfAny("/entry", item.Of)}
	f.Fuzz(func(t *testing.T, body string) {
		for _, rule := range rules {
			r := request(body)
			events, err := rule.Events(r)
			require.Equal(t, body, string(r.Body))
			if err != nil {
				require.IsType(t, &provider.EventError{}, err)
				require.True(t, Clean(err.Error()), "%q", err)
				require.Empty(t, events)
				continue
			}
			root, err := ParseJSON(r.Body)
			require.NoError(t, err)
			for _, e := range events {
				require.NotEmpty(t, e.ID)
				require.Equal(t, Lookup(root, e.Item).Raw, string(e.Part), e.Item)
			}
		}
	})
}
