package signin_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// onServer returns a door on a separate database server, its Logins, and the cookie of a signed-in
// browser. The last recorded use of the cookie was an hour ago, so its next use must be recorded.
func onServer(t *testing.T) (d *door, logins *signin.Logins, cookie *http.Cookie) {
	t.Helper()
	pool := pgtest.New(t, pgtest.Own())
	logins, err := signin.NewLogins(pool, "")
	require.NoError(t, err)
	logins.SetPatience(time.Minute) // no sign-in is refused on a busy machine
	d = newDoor(t, func(o *signin.Options) { o.Logins = logins })
	d.pool = pool
	cookie = d.signIn(t, "canary-deploy", "ada")
	logins.SetPatience(signin.Patience)
	d.change(t, `UPDATE hooklatch.console_logins SET seen_at = now() - interval '1 hour'`)
	return d, logins, cookie
}

// A signed-in user sees the console while COMMITs wait for a standby that is away. A sign-in, which
// must be durable, is refused in time.
func TestALoginDoesNotWaitForAStandby(t *testing.T) {
	t.Parallel()
	d, logins, cookie := onServer(t)
	d.change(t, `ALTER SYSTEM SET synchronous_standby_names = 'never_there'`)
	d.change(t, `SELECT pg_reload_conf()`)
	logins.SetPatience(100 * time.Millisecond)
	require.Eventually(t, func() bool { // the server's processes apply the setting some time later
		return d.submit("/login", url.Values{"token": {"canary-deploy"}}).Code == http.StatusServiceUnavailable
	}, 2*time.Minute, 10*time.Millisecond)
	logins.SetPatience(time.Minute)
	begun := time.Now()
	_, answer := asks(d.Guard, html, with(cookie))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	require.Less(t, time.Since(begun), time.Minute)
}

// While the server does not respond, a browser gets a page that says so, within a limited time.
func TestALoginOnAFrozenServerIsRefusedInTime(t *testing.T) {
	t.Parallel()
	d, _, cookie := onServer(t)
	require.NoError(t, pgtest.Pause(pgtest.Server(t, d.pool)))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, answer := asks(d.Guard, html, with(cookie), func(r *http.Request) { *r = *r.WithContext(ctx) })
	require.NoError(t, ctx.Err())
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Contains(t, answer.Body.String(), "The database does not answer")
}
