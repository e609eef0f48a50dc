package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// as requests a page as a user with the given role.
func (b *bundle) as(role signin.Role, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	return b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role})))
}

// private creates an effect whose event and whose response contain an email address, and returns
// the effect's key.
func (b *bundle) private(t testing.TB) (key string) {
	t.Helper()
	e := b.accept(t, "evt_1", "invoice.paid", `{"data":{"email":"ada@example.com","amount":42}}`)
	key = b.dispatch(t, e, ledger.AtLeastOnce)
	b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 422, ResponseExcerpt: "no ada@example.com here", Error: "refused"})
	return key
}

// everywhere returns all paths that show a part of the event that private accepts, and the paths
// that serve exact bytes.
func everywhere(key string) (shown, exact []string) {
	shown = []string{"/events", "/events/stripe/evt_1", "/effects", "/effects/" + key}
	for _, path := range shown {
		shown = append(shown, "/api"+path)
	}
	exact = []string{"/events/stripe/evt_1/raw", "/effects/" + key + "/body"}
	for _, path := range exact {
		exact = append(exact, "/api"+path)
	}
	return shown, exact
}

func TestPayloadsAreForARole(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.Sight.Payloads = signin.Operator })
	shown, exact := everywhere(b.private(t))
	const reason = "Payloads require the role operator. Your role is viewer."
	for _, path := range shown {
		got := b.as(signin.Viewer, path)
		require.Equal(t, http.StatusOK, got.Code, path)
		for _, private := range []string{"ada@example.com", "&lt;i&gt;somebody", `"amount"`, "<i>somebody"} {
			require.NotContains(t, got.Body.String(), private, path)
		}
	}
	require.Contains(t, b.as(signin.Viewer, shown[1]).Body.String(), reason)
	require.Contains(t, b.as(signin.Viewer, shown[3]).Body.String(), reason)
	for _, path := range exact {
		got := b.as(signin.Viewer, path)
		require.Equal(t, http.StatusForbidden, got.Code, path)
		require.Contains(t, got.Body.String(), reason)
		require.Contains(t, b.as(signin.Operator, path).Body.String(), "ada@example.com", path)
	}
	require.Contains(t, b.as(signin.Operator, shown[1]).Body.String(), "ada@example.com")
	b.refuse(t, "ada@example.com")
	refused, err := b.refused.List(t.Context(), quarantine.Filter{}, 1)
	require.NoError(t, err)
	path := "/quarantine/" + refused[0].ID.String()
	require.NotContains(t, b.as(signin.Viewer, path).Body.String(), "ada@example.com")
	require.Contains(t, b.as(signin.Viewer, path).Body.String(), reason)
	require.Contains(t, b.as(signin.Operator, path).Body.String(), "ada@example.com")
	search := "?" + url.Values{"when": {`body.data.email.startsWith("a")`}}.Encode()
	for _, list := range []string{"/events", "/effects", "/api/events", "/api/effects"} {
		require.Equal(t, http.StatusForbidden, b.as(signin.Viewer, list+search).Code)
		require.Equal(t, http.StatusOK, b.as(signin.Operator, list+search).Code)
	}
}

func TestMaskedValuesAreForAdmins(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) {
		o.Sight.Mask = map[string][]string{"stripe": {"/data/email", "/data/nothing"}}
	})
	key := b.private(t)
	shown, exact := everywhere(key)
	for _, role := range []signin.Role{signin.Viewer, signin.Operator} {
		for _, path := range shown {
			got := b.as(role, path)
			require.Equal(t, http.StatusOK, got.Code, path)
			require.NotContains(t, got.Body.String(), "ada@example.com", path)
		}
		page := b.as(role, "/events/stripe/evt_1").Body.String()
		require.Contains(t, page, "&#34;&lt;masked&gt;&#34;")
		require.Contains(t, page, "42", "the rest is shown")
		require.NotContains(t, page, "/raw")
		require.Contains(t, page, "The exact bytes contain these values")
		page = b.as(role, "/effects/"+key).Body.String()
		require.Contains(t, page, "requests may contain them")
		require.NotContains(t, page, "curl")
		for _, path := range exact {
			got := b.as(role, path)
			require.Equal(t, http.StatusForbidden, got.Code, path)
			require.Contains(t, got.Body.String(), "The exact bytes contain these values and require the role admin.")
		}
		// A user who must not see a value cannot find it by searching, either in one source or in
		// all sources.
		for _, source := range []string{"", "stripe"} {
			search := "?" + url.Values{"source": {source}, "when": {`body.data.email.startsWith("a")`}}.Encode()
			for _, list := range []string{"/events", "/effects", "/api/events", "/api/effects"} {
				got := b.as(role, list+search)
				require.Equal(t, http.StatusForbidden, got.Code)
				require.Contains(t, got.Body.String(), "a condition could reveal them")
			}
		}
		require.Equal(t, http.StatusOK, b.as(role, "/events?source=github&when=true").Code)
	}
	for _, path := range append(exact, shown[1], shown[3]) {
		require.Contains(t, b.as(signin.Admin, path).Body.String(), "ada@example.com", path)
	}
	require.Contains(t, b.as(signin.Admin, "/effects/"+key).Body.String(), "curl")
	require.Equal(t, http.StatusOK, b.as(signin.Admin, "/events?when=true").Code)
}

// A payload in which pointers cannot be resolved is not shown at all.
func TestMasksOfOtherBodies(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.Sight.Mask = map[string][]string{"stripe": {"/From"}} })
	for id, c := range map[string]struct{ contentType, body, has string }{
		"form":  {"application/x-www-form-urlencoded", "From=%2B4912345&Body=hello&From=%2B4912345", "hello"},
		"cut":   {"application/json", `{"From":"+4912345"`, "neither JSON nor a form"},
		"xml":   {"application/xml", "<From>+4912345</From>", "neither JSON nor a form"},
		"twice": {"application/json", `{"From":"+4912345","a":1,"From":"4912345"}`, "masked"},
	} {
		_, err := b.box.Accept(t.Context(), outbox.Delivery{
			Source: "stripe", Provider: "stripe", ContentType: c.contentType, Body: []byte(c.body), Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "sms"}},
		})
		require.NoError(t, err)
		page := b.as(signin.Operator, "/events/stripe/"+id).Body.String()
		require.NotContains(t, page, "4912345", id)
		require.Contains(t, page, c.has)
	}
}

// If the configuration requires it, the operator log records who viewed a payload, at most once an
// hour. If the view cannot be recorded, the payload is not shown.
func TestWhoReadsIsWrittenDown(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reads, err := signin.NewReads(pool, "")
	require.NoError(t, err)
	b := setupOn(t, pool, func(o *console.Options) { o.Sight.Payloads, o.Reads = signin.Operator, reads })
	key := b.private(t)
	shown, exact := everywhere(key)
	for _, path := range append(shown, exact...) {
		b.as(signin.Viewer, path)
	}
	log := func() (targets []string) {
		list, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
		require.NoError(t, err)
		for _, a := range list {
			require.Equal(t, "payload.read", string(a.Action))
			require.Equal(t, "vera operator console", strings.Join([]string{a.Who, a.Role, a.Via}, " "))
			require.NotEmpty(t, a.RequestID)
			targets = append(targets, a.Target)
		}
		return targets
	}
	require.Empty(t, log(), "nothing was shown")
	for _, path := range append(shown[:4:4], exact[:2]...) {
		require.Equal(t, http.StatusOK, b.as(signin.Operator, path).Code)
	}
	require.ElementsMatch(t, []string{"stripe/evt_1/payload", "stripe/evt_1/raw", key + "/body", "responses to effects of stripe"}, log(), "each view is recorded once an hour")
	search := "?source=stripe&when=" + url.QueryEscape(`body.email.startsWith("ada@example.com")`)
	for _, path := range []string{"/events" + search, "/api/events" + search, "/effects" + search} {
		require.Equal(t, http.StatusOK, b.as(signin.Operator, path).Code)
	}
	require.Regexp(t, `search: body\.email\.startsWith\(sha256:[0-9a-f]+\)`, strings.Join(log(), "\n"))
	require.NotContains(t, strings.Join(log(), "\n"), "ada@example.com")
	require.NotContains(t, b.as(signin.Operator, "/events/stripe/evt_1").Body.String(), "payload.read", "the event's page lists operator actions, not views")

	_, err = b.pool.Exec(t.Context(), `ALTER TABLE hooklatch.operator_log RENAME COLUMN target TO other`)
	require.NoError(t, err)
	for _, path := range exact {
		got := b.as(signin.Operator, path)
		require.NotEqual(t, http.StatusOK, got.Code)
		require.NotContains(t, got.Body.String(), "ada@example.com")
	}
}

// A refused delivery also has a payload. Users who must not see the payload still see whether the
// delivery would be accepted.
func TestPayloadsInQuarantineAreForTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.Sight.Payloads = signin.Operator })
	b.refuse(t, `{"email":"ada@example.com"}`)
	b.refused.proven = `{"email":"ada@example.com"}`
	list, err := b.refused.List(t.Context(), quarantine.Filter{}, 1)
	require.NoError(t, err)
	path := "/quarantine/" + list[0].ID.String()
	require.Contains(t, b.as(signin.Operator, path).Body.String(), "ada@example.com")
	for _, at := range []string{path, "/api" + path} {
		require.NotContains(t, b.as(signin.Viewer, at).Body.String(), "ada@example.com")
	}
	page := b.as(signin.Viewer, path).Body.String()
	require.Contains(t, page, "Payloads require the role operator. Your role is viewer.")
	require.Contains(t, page, "The delivery would be accepted now")
}

// A sender may also put customer data into a URL's query, which is hidden like the body.
func TestTheQueryOfARefusedDeliveryIsForTheSame(t *testing.T) {
	t.Parallel()
	for name, sight := range map[string]desk.Sight{
		"role": {Payloads: signin.Operator}, "mask": {Mask: map[string][]string{"stripe": {"/data/email"}}},
	} {
		b := setup(t, func(o *console.Options) { o.Sight = sight })
		b.refuse(t, `{}`)
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.rejected_deliveries SET target = target || '?email=ada%40example.com'`)
		require.NoError(t, err)
		list, err := b.refused.List(t.Context(), quarantine.Filter{}, 1)
		require.NoError(t, err)
		path := "/quarantine/" + list[0].ID.String()
		for _, at := range []string{"/quarantine", "/api/quarantine", path, "/api" + path} {
			got := b.as(signin.Viewer, at)
			require.Equal(t, http.StatusOK, got.Code, at)
			require.NotContains(t, got.Body.String(), "ada%40", "%s: %s", name, at)
		}
	}
}

// A response may repeat the whole event, so each view of a response is recorded, even if the
// request body is no longer stored.
func TestWhoReadsResponsesIsWrittenDown(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reads, err := signin.NewReads(pool, "")
	require.NoError(t, err)
	b := setupOn(t, pool, func(o *console.Options) { o.Reads = reads })
	key := b.private(t)
	_, err = pool.Exec(t.Context(), `UPDATE hooklatch.effects SET request_body = NULL`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `DELETE FROM hooklatch.deliveries`)
	require.NoError(t, err)
	for path, target := range map[string]string{
		"/api/events/stripe/evt_1": "stripe/evt_1/payload", "/effects/" + key: key + "/body", "/api/effects/" + key: key + "/body",
	} {
		_, err := pool.Exec(t.Context(), `DELETE FROM hooklatch.operator_log`)
		require.NoError(t, err)
		got := b.as(signin.Viewer, path)
		require.Equal(t, http.StatusOK, got.Code, path)
		require.Contains(t, got.Body.String(), "no ada@example.com here", path)
		list, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
		require.NoError(t, err)
		require.Len(t, list, 1, path)
		require.Equal(t, target, list[0].Target)
	}
}
