package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Operator actions can be found by operator, action, target and time, and link to their target.
func TestAuditListsWhatPeopleOrdered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Contains(t, b.page(t, "/audit"), "No operator action has been recorded yet")
	key := b.failed(t, "evt_1")
	require.NoError(t, b.box.Ledger().Retry(t.Context(), key, ledger.Operator{Who: "ada", Role: "operator", Via: "cli", Reason: hostile, RequestID: "req_1"}))
	require.NoError(t, b.box.Fleet().SetPaused(t.Context(), "app", true, ledger.Operator{Who: "bob", Via: "cli", Reason: "they move"}))
	page := b.page(t, "/audit")
	wellMade(t, "/audit", page)
	for _, want := range []string{`href="/effects/` + key, `href="/destinations/app"`, "effect.retry", "destination.pause", "they move", "ada", "operator", "req_1", "hooklatch audit"} {
		require.Contains(t, page, want)
	}
	for query, want := range map[string]int{
		"": 2, "who=ada": 1, "who=ADA": 0, "action=destination.pause": 1, "target=app": 1, "target=" + key: 1, "from=-1h": 2, "to=2020-01-01": 0, "who=bob&from=-1h&to=" + time.Now().AddDate(1, 0, 0).Format(time.DateOnly): 1,
	} {
		var found struct{ Rows []ledger.OperatorAction }
		require.NoError(t, json.Unmarshal([]byte(b.page(t, "/api/audit?"+query)), &found))
		require.Len(t, found.Rows, want, query)
	}
	require.Contains(t, b.page(t, "/audit?who=ada&from=-36h"), "hooklatch audit --who ada --since 36h", "the same on the command line")
}

// All pages of the list together contain each action once, although all actions have the same time.
func TestAuditGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 120 {
		_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (at, who, via, action, target, affected, request_id) VALUES ('2026-11-21 08:00Z', 'ada', 'cli', 'effect.park', $1, 1, 'x')`, fmt.Sprintf("hl_%03d", i))
		require.NoError(t, err)
	}
	var all []string
	for at := "/audit"; at != ""; {
		page := b.page(t, at)
		all = append(all, listed(t, page)...)
		if at = older(t, page); at != "" {
			at = "/audit" + at
		}
	}
	require.Len(t, all, 120)
	require.Equal(t, "hl_119", all[0])
	require.Equal(t, "hl_000", all[119])
}

// The audit page is for admins. Other users see that it exists, and the role that it requires.
func TestAuditIsForAdmins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for role, status := range map[signin.Role]int{signin.Viewer: http.StatusForbidden, signin.Operator: http.StatusForbidden, signin.Admin: http.StatusOK} {
		as := func(path string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			return b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role})))
		}
		require.Equal(t, status, as("/audit").Code, role)
		require.Equal(t, status, as("/api/audit").Code, role)
		page := as("/events").Body.String()
		require.Equal(t, role == signin.Admin, slices.Contains(wellMade(t, "/events", page), "/audit"), role)
		require.Equal(t, role != signin.Admin, strings.Contains(page, "requires the role admin"), role)
	}
}
