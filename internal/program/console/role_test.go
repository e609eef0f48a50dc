package console_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The server refuses and logs an action if the user lacks the required role, even if a page shows
// the action.
func TestWhoLacksARoleIsRefused(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := setup(t, func(opts *console.Options) { opts.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	key := b.failed(t, "evt_1")
	as := func(role signin.Role, method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, http.NoBody)
		return b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role})))
	}
	for _, role := range []signin.Role{"", signin.Viewer} {
		got := as(role, http.MethodPost, "/effects/"+key+"/retry")
		require.Equal(t, http.StatusForbidden, got.Code)
		require.Contains(t, got.Body.String(), "This requires the role operator")
		require.Equal(t, ledger.EffectFailed, b.effect(t, key).State)
	}
	require.Contains(t, log.String(), "person=vera role=viewer")
	require.Equal(t, http.StatusOK, as(signin.Viewer, http.MethodGet, "/effects").Code)
	require.Equal(t, http.StatusForbidden, as("", http.MethodGet, "/effects").Code)
	require.Equal(t, http.StatusSeeOther, as(signin.Operator, http.MethodPost, "/effects/"+key+"/retry").Code)
	done, err := b.box.Ledger().OperatorLog(t.Context(), b.effect(t, key).CreatedAt, 0)
	require.NoError(t, err)
	require.Len(t, done, 1)
	require.Equal(t, "operator", done[0].Role)
}

// A page disables actions for which the user lacks the role, and shows the reason.
func TestWhatARoleLacksIsShownDisabled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	for _, path := range []string{"/effects/" + key, "/destinations/app"} {
		as := func(role signin.Role) string {
			r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			got := b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role})))
			require.Equal(t, http.StatusOK, got.Code)
			wellMade(t, path, got.Body.String())
			return got.Body.String()
		}
		page := as(signin.Viewer)
		require.Contains(t, page, "<button disabled>")
		require.Contains(t, page, "This requires the role operator. Your role is viewer.")
		require.NotContains(t, page, "data-dialog")
		page = as(signin.Operator)
		require.NotContains(t, page, "<button disabled>")
		require.Contains(t, page, "data-dialog")
	}
}
