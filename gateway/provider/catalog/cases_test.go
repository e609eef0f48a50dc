package catalog

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// maxKey is the maximum length of an id or a type in the outbox, in bytes.
const maxKey = 255

func TestCases(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marks := map[string]map[string]string{} // event ids by kind and mark
			for _, c := range deliveriesOf(t, name).cases {
				if marks[c.kind] == nil {
					marks[c.kind] = map[string]string{}
				}
				t.Run(c.kind+"/"+c.name, func(t *testing.T) { c.run(t, name, marks[c.kind]) })
			}
			for _, kind := range []string{"accepted", "refused", "unusable"} {
				require.Contains(t, marks, kind, "deliveries of each kind")
			}
			for _, ofKind := range marks {
				ids := map[string]bool{}
				for _, id := range ofKind {
					ids[id] = true
				}
				require.Len(t, ids, len(ofKind), "events with different marks have different keys")
			}
		})
	}
}

// A trial of an endpoint check has the same outcome as the check, but fetches only the documents
// that the verification needs.
func TestATrialChangesNothingOutside(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for _, c := range deliveriesOf(t, name).cases {
			if c.want.answer == nil {
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.source.Publishes = maps.Clone(c.source.Publishes)
				maps.DeleteFunc(c.source.Publishes, func(_, document string) bool { return !strings.HasPrefix(document, "{") })
				p, secrets, r := c.received(t, name)
				r.Trial = true
				answer, err := p.Handshake(t.Context(), r, secrets, c.source.Clock)
				require.NoError(t, err)
				require.Equal(t, c.want.answer.Status, answer.Status)
			})
		}
	}
}

// Each file in testdata belongs to an existing provider.
func TestEveryFileIsOfAProvider(t *testing.T) {
	t.Parallel()
	all, err := allDeliveries()
	require.NoError(t, err)
	for name := range all {
		require.Contains(t, Names(), name)
	}
}

func (c *delivery) run(t *testing.T, name string, marks map[string]string) {
	p, secrets, r := c.received(t, name)
	before, now := string(r.Body), c.source.Clock

	if p.Handshake != nil {
		answer, err := p.Handshake(t.Context(), r, secrets, now)
		if c.want.answer != nil {
			require.NoError(t, err)
			require.NotNil(t, answer)
			require.Equal(t, string(c.want.answer.Body), string(answer.Body))
			require.Equal(t, c.want.answer.Status, answer.Status)
			require.Equal(t, c.want.answer.ContentType, answer.ContentType)
			return
		}
		if err != nil {
			c.want.requireRefusal(t, err)
			return
		}
		require.Nil(t, answer)
	}
	verified, err := p.Verify(t.Context(), r, secrets, now)
	if c.want.reason != "" {
		c.want.requireRefusal(t, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, c.source.Index, verified.SecretIndex)

	events, err := p.Events(r)
	require.Equal(t, before, string(r.Body))
	if c.want.message != "" {
		c.want.requireRefusal(t, err)
		return
	}
	require.NoError(t, err)
	require.Len(t, events, len(c.want.events))
	for i, want := range c.want.events {
		want.require(t, r, events[i], marks)
	}
}

// require compares an event with the expected event. A key that cannot be written into a file
// is compared by its prefix or its mark.
func (want expectedEvent) require(t *testing.T, r *provider.Request, got provider.Event, marks map[string]string) {
	t.Helper()
	if want.IDPrefix != "" {
		require.True(t, strings.HasPrefix(got.ID, want.IDPrefix), got.ID)
		require.LessOrEqual(t, len(got.ID), maxKey)
	} else {
		require.Equal(t, want.ID, got.ID)
	}
	if want.Same != "" {
		if marks[want.Same] == "" {
			marks[want.Same] = got.ID
		}
		require.Equal(t, marks[want.Same], got.ID)
	}
	var occurred time.Time
	if want.OccurredAt != "" {
		var err error
		occurred, err = time.Parse(time.RFC3339Nano, want.OccurredAt)
		require.NoError(t, err)
	}
	if got.Item != "" {
		require.Equal(t, jsonpointer.Lookup(gjson.ParseBytes(r.Body), got.Item).Raw, string(got.Part))
	}
	got.ID, got.Part, got.TypeInHeader = "", nil, false
	require.Equal(t, provider.Event{Type: want.Type, APIVersion: want.APIVersion, OccurredAt: occurred, Item: want.Item}, got)
}

func (want outcome) requireRefusal(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	if refused, ok := errors.AsType[*provider.VerifyError](err); ok {
		require.Equal(t, want.reason, refused.Reason, err)
		return
	}
	unusable, ok := errors.AsType[*provider.EventError](err)
	require.True(t, ok, err)
	require.Equal(t, want.message, unusable.Message)
	require.Equal(t, want.unreadable, unusable.Unreadable)
}

// signatureHeader returns the header into which Sign puts the signature. It recognises the
// header by its name, and returns "" if it finds none.
func signatureHeader(t testing.TB, p *provider.Provider, r *provider.Request, key secret.Value) string {
	t.Helper()
	names := signing(t, p, r, key)
	slices.Sort(names)
	for _, word := range []string{"Signature", "Sig", "Hmac", "Token", "Authorization", "Verification"} {
		for _, name := range names {
			if strings.Contains(name, word) && !strings.Contains(name, "Timestamp") {
				return name
			}
		}
	}
	return ""
}
