package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

// An unauthenticated user sees only the sign-in page.
func TestThePageToSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.URL = "https://ops.example.com/hooklatch" })
	for _, p := range []signin.Page{
		{Status: http.StatusOK, Next: "/", Token: true, AsksName: true},
		{Status: http.StatusUnauthorized, Next: hostile, Token: true, AsksName: true, Wrong: hostile, Name: hostile},
		{Status: http.StatusServiceUnavailable, Next: "/", Wrong: "The database does not answer."},
	} {
		w := httptest.NewRecorder()
		b.console.SignInPage(w, httptest.NewRequest(http.MethodGet, "/login?done=retry", http.NoBody), p)
		require.Equal(t, p.Status, w.Code)
		wellMade(t, "/login", w.Body.String())
		for _, other := range []string{"/hooklatch/events", "/hooklatch/look", "/hooklatch/jump", "/hooklatch/logout", "recorded"} {
			require.NotContains(t, w.Body.String(), other)
		}
		if p.Token {
			require.Contains(t, w.Body.String(), `action="/hooklatch/login"`)
		}
	}
}

// Every page shows the signed-in user, and offers sign-out to users who signed in.
func TestPagesSayWhoIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	as := func(p signin.Person) string {
		r := httptest.NewRequest(http.MethodGet, "/help", http.NoBody)
		got := b.answer(r.WithContext(signin.WithPerson(r.Context(), p)))
		wellMade(t, "/help", got.Body.String())
		return got.Body.String()
	}
	page := as(signin.Person{Name: "<canary>", Role: signin.Viewer, Way: signin.WayToken, Cookie: true})
	require.Contains(t, page, "&lt;canary&gt; · viewer")
	require.Contains(t, page, `action="/logout"`)
	require.Contains(t, page, `action="/logout-everywhere"`)
	require.NotContains(t, as(signin.Person{Name: "ada", Role: signin.Admin, Way: signin.WayToken}), "/logout")
	require.Contains(t, as(signin.Person{Name: "ada", Role: signin.Admin, Way: signin.WayLoopback}), "No sign-in is needed on this machine.")
}
