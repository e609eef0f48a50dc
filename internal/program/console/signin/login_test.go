package signin_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// door is a Guard with its database. Its methods send requests as a browser does.
type door struct {
	*signin.Guard

	pool *pgxpool.Pool
}

func newDoor(t testing.TB, change ...func(*signin.Options)) *door {
	t.Helper()
	pool := pgtest.New(t)
	logins, err := signin.NewLogins(pool, "")
	require.NoError(t, err)
	logins.SetPatience(time.Minute) // no sign-in is refused on a busy machine
	opts := signin.Options{
		Tokens: tokens(), Logins: logins,
		Page: func(w http.ResponseWriter, _ *http.Request, p signin.Page) {
			w.WriteHeader(p.Status)
			fmt.Fprintf(w, "next %s wrong %s", p.Next, p.Wrong)
		},
	}
	for _, f := range change {
		f(&opts)
	}
	return &door{newGuard(t, opts), pool}
}

// submit sends a form like a browser, and returns the response.
func (d *door) submit(path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	_, answer := asks(d.Guard, append([]func(*http.Request){func(r *http.Request) {
		*r = *httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		html(r)
	}}, change...)...)
	return answer
}

// signIn exchanges a token for a cookie.
func (d *door) signIn(t testing.TB, token, name string) *http.Cookie {
	t.Helper()
	answer := d.submit("/login", url.Values{"token": {token}, "name": {name}})
	require.Equal(t, http.StatusSeeOther, answer.Code, answer.Body)
	cookies := answer.Result().Cookies() //nolint:bodyclose // a recorder's body needs no Close
	require.Len(t, cookies, 1)
	return cookies[0]
}

func (d *door) change(t testing.TB, sql string) {
	t.Helper()
	_, err := d.pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func (d *door) rows(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, d.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.console_logins`).Scan(&n))
	return n
}

func html(r *http.Request) { r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8") }

func at(path string) func(*http.Request) {
	return func(r *http.Request) { r.URL, _ = url.Parse(path) }
}

func with(cookie *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value}) }
}

func TestAFormChangesATokenForACookie(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	_, answer := asks(d.Guard, html, at("/events?source=stripe"))
	require.Equal(t, http.StatusSeeOther, answer.Code)
	require.Equal(t, "/login?next=%2Fevents%3Fsource%3Dstripe", answer.Header().Get("Location"))
	_, answer = asks(d.Guard, html, at(answer.Header().Get("Location")))
	require.Equal(t, "next /events?source=stripe wrong ", answer.Body.String())

	answer = d.submit("/login", url.Values{"token": {"canary-deploy"}, "name": {"ada"}, "next": {"/events?source=stripe"}})
	require.Equal(t, "/events?source=stripe", answer.Header().Get("Location"))
	cookie := answer.Result().Cookies()[0] //nolint:bodyclose // a recorder's body needs no Close
	require.Equal(t, "hooklatch", cookie.Name)
	require.True(t, cookie.HttpOnly)
	require.False(t, cookie.Secure)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	require.Equal(t, "/", cookie.Path)
	require.Empty(t, cookie.Domain)
	require.Equal(t, 7*24*60*60, cookie.MaxAge)
	random, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	require.NoError(t, err)
	require.Len(t, random, 32)

	who, _ := asks(d.Guard, html, with(cookie))
	require.Equal(t, signin.Person{Name: "deploy", Role: signin.Operator, Way: signin.WayToken, Cookie: true}, who)
	who, _ = asks(d.Guard, with(d.signIn(t, "canary-of-all", "ada")))
	require.Equal(t, signin.Person{Name: "ada", Role: signin.Admin, Way: signin.WayToken, Cookie: true}, who)
	answer = d.submit("/login", url.Values{"token": {"canary-deploy"}, "next": {"//evil.example"}})
	require.Equal(t, "/", answer.Header().Get("Location"))
	answer = d.submit("/login", url.Values{"token": {"canary-deploy"}}, with(cookie))
	require.Equal(t, http.StatusSeeOther, answer.Code)
	who, _ = asks(d.Guard, with(cookie))
	require.Zero(t, who, "a browser has one login")
	var stored string
	require.NoError(t, d.pool.QueryRow(t.Context(), `SELECT string_agg(t::text, ' ') FROM hooklatch.console_logins AS t`).Scan(&stored))
	require.NotContains(t, stored, "canary")
	require.NotContains(t, stored, cookie.Value)
}

func TestOnHTTPSTheCookieIsForTheHostAlone(t *testing.T) {
	t.Parallel()
	ops, err := url.Parse("https://ops.example.com/hooklatch/")
	require.NoError(t, err)
	for _, change := range []func(*signin.Options){
		func(o *signin.Options) { o.TLS = true },
		func(o *signin.Options) { o.ConsoleURL = ops },
	} {
		d := newDoor(t, change)
		cookie := d.signIn(t, "canary-deploy", "")
		require.Equal(t, "__Host-hooklatch", cookie.Name)
		require.True(t, cookie.Secure)
		require.Equal(t, "/", cookie.Path)
		who, _ := asks(d.Guard, with(cookie))
		require.Equal(t, "deploy", who.Name)
		who, _ = asks(d.Guard, with(&http.Cookie{Name: "hooklatch", Value: cookie.Value}))
		require.Zero(t, who, "a cookie that plain HTTP may have set is ignored")
	}
}

// Links stay below the console's path, whether a proxy keeps the path or not.
func TestSignInBelowAPath(t *testing.T) {
	t.Parallel()
	ops, err := url.Parse("http://ops.example.com/hooklatch/")
	require.NoError(t, err)
	d := newDoor(t, func(o *signin.Options) { o.ConsoleURL = ops })
	for _, path := range []string{"/effects", "/hooklatch/effects"} {
		_, answer := asks(d.Guard, html, at(path))
		require.Equal(t, "/hooklatch/login?next=%2Feffects", answer.Header().Get("Location"))
	}
	for _, path := range []string{"/login", "/hooklatch/login"} {
		answer := d.submit(path, url.Values{"token": {"canary-deploy"}, "next": {"/effects"}})
		require.Equal(t, "/hooklatch/effects", answer.Header().Get("Location"))
	}
}

func TestAWrongTokenIsSaidAndThrottled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := newDoor(t, func(o *signin.Options) { o.Now = func() time.Time { return now } })
	for range 10 {
		answer := d.submit("/login", url.Values{"token": {"guess"}, "next": {"/help"}})
		require.Equal(t, http.StatusUnauthorized, answer.Code)
		require.Equal(t, "next /help wrong Unknown token.", answer.Body.String())
		require.Empty(t, answer.Header().Get("WWW-Authenticate"), "with this header a browser would show its own dialog")
		require.Empty(t, answer.Header().Get("Set-Cookie"))
	}
	answer := d.submit("/login", url.Values{"token": {"guess"}})
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "10", answer.Header().Get("Retry-After"))
	_, answer = asks(d.Guard, bearer("guess"))
	require.Equal(t, http.StatusTooManyRequests, answer.Code, "guesses in the form and in headers are counted together")

	// Behind a proxy, all clients have the same address as the attacker.
	_, answer = asks(d.Guard, bearer("canary-deploy"))
	require.Equal(t, http.StatusOK, answer.Code, "a valid token is never refused")
	d.signIn(t, "canary-deploy", "")
	now = now.Add(2 * time.Second)
	require.Equal(t, http.StatusUnauthorized, d.submit("/login", url.Values{"token": {"guess"}}).Code)
	require.Equal(t, http.StatusUnprocessableEntity, d.submit("/login", url.Values{}).Code)
	require.Equal(t, http.StatusBadRequest, d.submit("/login", url.Values{"token": {strings.Repeat("x", 10<<10)}}).Code)
	require.Equal(t, 1, d.rows(t))
}

// Programs get a problem. If a browser's login expires before an action, the page says that nothing
// was changed.
func TestOnlyBrowsersAreLedToThePage(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, change := range [][]func(*http.Request){
		{}, {func(r *http.Request) { r.Header.Set("Accept", "application/json") }}, {html, bearer("wrong")}, {html, basic("ada", "wrong")},
	} {
		_, answer := asks(d.Guard, change...)
		require.Equal(t, http.StatusUnauthorized, answer.Code)
		require.Contains(t, answer.Header().Get("WWW-Authenticate"), "Basic")
	}
	answer := d.submit("/effects/hl_1/retry", nil)
	require.Equal(t, http.StatusUnauthorized, answer.Code)
	require.Contains(t, answer.Body.String(), "Nothing was changed.")
	_, answer = asks(d.Guard, at("/static/1/console.css"))
	require.Equal(t, http.StatusOK, answer.Code, "static files are public")
}

// A cookie is valid only while its row exists, has not expired, and is unchanged.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		over bool
	}{
		"used":          {`UPDATE hooklatch.console_logins SET seen_at = now() - interval '11 hours', signed_in_at = now() - interval '6 days'`, false},
		"idle":          {`UPDATE hooklatch.console_logins SET seen_at = now() - interval '12 hours 1 second'`, true},
		"old":           {`UPDATE hooklatch.console_logins SET signed_in_at = now() - interval '7 days 1 second'`, true},
		"deleted":       {`DELETE FROM hooklatch.console_logins`, true},
		"another basis": {`UPDATE hooklatch.console_logins SET basis = sha256(basis)`, true},
		"another role":  {`UPDATE hooklatch.console_logins SET role = 'admin'`, true},
		"another name":  {`UPDATE hooklatch.console_logins SET name = 'ceo'`, true},
		"another token": {`UPDATE hooklatch.console_logins SET token = ''`, true},
		"no way":        {`UPDATE hooklatch.console_logins SET way = 'loopback'`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			cookie := d.signIn(t, "canary-deploy", "")
			d.change(t, c.sql)
			who, answer := asks(d.Guard, html, with(cookie))
			require.Equal(t, c.over, who == signin.Person{})
			if c.over {
				require.Equal(t, http.StatusSeeOther, answer.Code)
			}
		})
	}
}

func TestForgedCookiesAreNobodys(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	cookie := d.signIn(t, "canary-deploy", "")
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	var hash []byte
	require.NoError(t, d.pool.QueryRow(t.Context(), `SELECT hash FROM hooklatch.console_logins`).Scan(&hash))
	for _, value := range []string{
		"", "x", base64.RawURLEncoding.EncodeToString(random), base64.RawURLEncoding.EncodeToString(hash), strings.ToUpper(cookie.Value),
		cookie.Value[:42], cookie.Value + "A", strings.Repeat("\x00", 43),
	} {
		who, answer := asks(d.Guard, html, with(&http.Cookie{Name: cookie.Name, Value: value}))
		require.Zero(t, who, value)
		require.Equal(t, http.StatusSeeOther, answer.Code)
	}
}

// A login follows the current configuration: it ends with its token, and has the token's role.
func TestALoginGoesWithItsToken(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	cookie := d.signIn(t, "canary-deploy", "")
	deploy := func(role signin.Role, token string) []signin.Token {
		return []signin.Token{{Role: signin.Admin, Secret: secret.New("other")}, {Name: "deploy", Role: role, Secret: secret.New(token)}}
	}
	d.SetSecrets(signin.Secrets{Tokens: deploy(signin.Viewer, "canary-deploy")})
	who, _ := asks(d.Guard, with(cookie))
	require.Equal(t, signin.Viewer, who.Role, "a weaker role applies immediately")
	d.SetSecrets(signin.Secrets{Tokens: deploy(signin.Operator, "canary-next")})
	who, _ = asks(d.Guard, with(cookie))
	require.Zero(t, who, "replacing a leaked token ends its logins")
	d.SetSecrets(signin.Secrets{Tokens: deploy(signin.Operator, "canary-deploy")})
	who, _ = asks(d.Guard, with(cookie))
	require.Zero(t, who, "for good")

	cookie = d.signIn(t, "canary-deploy", "")
	d.SetSecrets(signin.Secrets{Tokens: deploy(signin.Operator, "canary-deploy")[:1]})
	who, _ = asks(d.Guard, with(cookie))
	require.Zero(t, who, "the token was removed")
}

func TestSigningOut(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	here, there := d.signIn(t, "canary-of-all", "ada"), d.signIn(t, "canary-of-all", "ada")
	bea, deploy := d.signIn(t, "canary-of-all", "bea"), d.signIn(t, "canary-deploy", "ada")
	known := func(cookies ...*http.Cookie) (names []string) {
		for _, cookie := range cookies {
			who, _ := asks(d.Guard, with(cookie))
			names = append(names, who.Name)
		}
		return names
	}
	answer := d.submit("/logout", nil, with(here))
	require.Equal(t, "/login", answer.Header().Get("Location"))
	require.Contains(t, answer.Header().Get("Set-Cookie"), "Max-Age=0")
	require.Equal(t, []string{"", "ada", "bea", "deploy"}, known(here, there, bea, deploy))
	d.submit("/logout-everywhere", nil, with(here))
	require.Equal(t, []string{"ada"}, known(there), "an ended login cannot end other logins")

	d.signIn(t, "canary-of-all", "ada")
	d.submit("/logout-everywhere", nil, with(there))
	require.Equal(t, []string{"", "bea", "deploy"}, known(there, bea, deploy))
	require.Equal(t, 2, d.rows(t))
	require.Equal(t, http.StatusSeeOther, d.submit("/logout", nil).Code, "signing out without a login is not an error")
}

// At most one request per minute records the last use of a login.
func TestALoginIsTouchedOnceAMinute(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	cookie := d.signIn(t, "canary-deploy", "")
	seen := func() (at time.Time) {
		require.NoError(t, d.pool.QueryRow(t.Context(), `SELECT seen_at FROM hooklatch.console_logins`).Scan(&at))
		return at
	}
	d.change(t, `UPDATE hooklatch.console_logins SET seen_at = now() - interval '30 seconds'`)
	before := seen()
	asks(d.Guard, with(cookie))
	require.Equal(t, before, seen())
	d.change(t, `UPDATE hooklatch.console_logins SET seen_at = now() - interval '2 minutes'`)
	before = seen()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { asks(d.Guard, with(cookie)) })
	}
	all.Wait()
	require.Greater(t, seen(), before.Add(time.Minute))
}

func TestLoginsThatAreOverAreDeleted(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.change(t, `INSERT INTO hooklatch.console_logins (hash, name, role, way, basis, seen_at)
		SELECT sha256(i::text::bytea), 'ada', 'admin', 'token', '', now() - interval '13 hours' FROM generate_series(1, 150) AS i`)
	d.signIn(t, "canary-deploy", "")
	require.Equal(t, 51, d.rows(t), "each new login deletes some expired ones")
	d.signIn(t, "canary-deploy", "")
	require.Equal(t, 2, d.rows(t))
}

// Without the database, cookies do not work, but tokens do.
func TestADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	cookie := d.signIn(t, "canary-deploy", "")
	d.change(t, `ALTER TABLE hooklatch.console_logins RENAME TO away`)
	_, answer := asks(d.Guard, html, with(cookie))
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Contains(t, answer.Body.String(), "The database does not answer")
	_, answer = asks(d.Guard, with(cookie))
	require.Contains(t, answer.Body.String(), "the database does not answer, and only the database knows who is signed in; send a token")
	require.Equal(t, http.StatusServiceUnavailable, d.submit("/login", url.Values{"token": {"canary-deploy"}}).Code)
	answer = d.submit("/logout", nil, with(cookie))
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Empty(t, answer.Header().Get("Set-Cookie"), "the cookie could still be used")
	who, _ := asks(d.Guard, bearer("canary-deploy"))
	require.Equal(t, "deploy", who.Name)
}

// If no authentication is required, there is no sign-in.
func TestNothingToSignInTo(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(o *signin.Options) { o.Tokens = nil })
	here := func(r *http.Request) { r.Host = "127.0.0.1:8081" }
	_, answer := asks(d.Guard, here, at("/login"))
	require.Equal(t, "/", answer.Header().Get("Location"))
	require.Equal(t, "/", d.submit("/login", url.Values{"token": {"x"}}, here).Header().Get("Location"))
	require.Equal(t, http.StatusMisdirectedRequest, d.submit("/login", nil).Code)
}
