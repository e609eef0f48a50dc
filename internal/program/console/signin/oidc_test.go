package signin_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// countedProvider is an OpenID Connect provider that refuses every code and counts requests.
type countedProvider struct {
	*httptest.Server

	discoveries, exchanges atomic.Int32
	away                   atomic.Bool
}

func newCountedProvider(t *testing.T) *countedProvider {
	t.Helper()
	p := &countedProvider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/token":
			p.exchanges.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		default:
			p.discoveries.Add(1)
			if p.away.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/authorize","token_endpoint":"%s/token","jwks_uri":"%s/keys"}`, p.URL, p.URL, p.URL, p.URL)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// atProvider returns a door with sign-in through a provider, and a clock that shows *now.
func atProvider(t *testing.T, p *countedProvider, now *time.Time, more ...func(*signin.Options)) *door {
	t.Helper()
	return newDoor(t, append([]func(*signin.Options){func(o *signin.Options) {
		o.OIDC = &signin.OIDC{Issuer: p.URL, ClientID: "hooklatch", ClientSecret: secret.New("the-client-secret"), Scopes: []string{"openid"}}
		o.Roles = signin.Conditions{signin.Viewer: "true"}
		o.ConsoleURL = &url.URL{Scheme: "http", Host: "localhost"}
		o.Now = func() time.Time { return *now }
	}}, more...)...)
}

// visit requests a path like a browser at an address, and returns the response.
func (d *door) visit(remote, path, cookie string, more ...*http.Cookie) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.RemoteAddr = remote + ":1"
	r.Header.Set("Accept", "text/html")
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: "hooklatch-oidc", Value: cookie})
	}
	for _, one := range more {
		r.AddCookie(one)
	}
	recorder := httptest.NewRecorder()
	d.Handler(http.NotFoundHandler()).ServeHTTP(recorder, r)
	return recorder.Result() //nolint:bodyclose // a recorder's body needs no Close
}

// begun returns the cookie and state of a sign-in that a client at an address started.
func (d *door) begun(t *testing.T, remote string) (cookie, state string) {
	t.Helper()
	answer := d.visit(remote, "/auth/oidc", "")
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	at, err := answer.Location()
	require.NoError(t, err)
	for _, one := range answer.Cookies() {
		if one.Name == "hooklatch-oidc" {
			cookie = one.Value
		}
	}
	require.NotEmpty(t, cookie)
	return cookie, at.Query().Get("state")
}

func back(state string) string {
	return "/auth/callback?" + url.Values{"code": {"made-up"}, "state": {state}}.Encode()
}

// A browser that requests the callback several times at once causes one request to the provider.
// The clock is slow, so that all these requests find the flow unused.
func TestAFlowIsUsedOnceAtATime(t *testing.T) {
	t.Parallel()
	p, now := newCountedProvider(t), time.Now()
	d := atProvider(t, p, &now, func(o *signin.Options) {
		o.Now = func() time.Time {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // it waits for nothing: the clock is slow
			return now
		}
	})
	cookie, state := d.begun(t, "192.0.2.1")
	var together sync.WaitGroup
	for range 8 {
		together.Go(func() { d.visit("192.0.2.1", back(state), cookie) })
	}
	together.Wait()
	require.EqualValues(t, 1, p.exchanges.Load())
}

// The provider gets no request for sign-ins that Hooklatch did not start, and at most one request
// for each started sign-in. Attackers can cause only a limited number of requests.
func TestStrangersAskTheProviderLittle(t *testing.T) {
	t.Parallel()
	p, now := newCountedProvider(t), time.Now()
	d := atProvider(t, p, &now)

	cookie, state := d.begun(t, "192.0.2.1")
	encoded, seal, _ := strings.Cut(cookie, ".")
	for name, forged := range map[string]string{
		"made up": base64.RawURLEncoding.EncodeToString([]byte(`{"state":"x","nonce":"y","verifier":"z"}`)), "without seal": encoded,
		"seal of another": base64.RawURLEncoding.EncodeToString([]byte(`{"state":"x","nonce":"y","verifier":"z"}`)) + "." + seal, "nothing": ".",
	} {
		for _, state := range []string{"x", state, ""} {
			require.Equal(t, http.StatusBadRequest, d.visit("192.0.2.1", back(state), forged).StatusCode, name)
		}
	}
	require.Equal(t, http.StatusBadRequest, d.visit("192.0.2.1", back("another"), cookie).StatusCode)
	require.Zero(t, p.exchanges.Load())

	for i := range 100 {
		want := http.StatusBadRequest
		if i == 0 {
			want = http.StatusBadGateway
		}
		require.Equal(t, want, d.visit("192.0.2.1", back(state), cookie).StatusCode)
	}
	require.EqualValues(t, 1, p.exchanges.Load(), "a flow is used once, and its code is sent once")

	for range 100 {
		cookie, state := d.begun(t, "192.0.2.1")
		d.visit("192.0.2.1", back(state), cookie)
	}
	require.LessOrEqual(t, p.exchanges.Load(), int32(5), "one address")
	for i := range 300 {
		remote := fmt.Sprintf("198.51.%d.%d", i/100, i%100)
		cookie, state := d.begun(t, remote)
		d.visit(remote, back(state), cookie)
	}
	require.LessOrEqual(t, p.exchanges.Load(), int32(25), "all strangers")
	require.EqualValues(t, 1, p.discoveries.Load())

	cookie, state = d.begun(t, "203.0.113.1")
	now = now.Add(11 * time.Minute)
	require.Equal(t, http.StatusBadRequest, d.visit("203.0.113.1", back(state), cookie).StatusCode, "the flow was begun too long ago")
}

// Attackers can use up the allowed requests, except for the requests reserved for known addresses.
func TestAKnownAddressSignsInBesideStrangers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	q := signin.NewQuestions(func() time.Time { return now })
	q.Proven("192.0.2.1:1")
	allowed := 0
	for i := range 1_000 {
		if q.Allow(fmt.Sprintf("10.0.%d.%d:1", i/250, i%250)) {
			allowed++
		}
	}
	require.Equal(t, 20, allowed)
	require.True(t, q.Allow("192.0.2.1:1"))
	require.False(t, q.Allow("192.0.2.2:1"))
}

// Behind a proxy all clients have one address. Attackers can use up the requests of this address,
// but not the requests reserved for browsers with which a user has signed in. Other users can
// repeat their requests later.
func TestAKnownBrowserSignsInBesideStrangers(t *testing.T) {
	t.Parallel()
	const proxy = "192.0.2.1"
	p, now := newCountedProvider(t), time.Now()
	d := atProvider(t, p, &now)
	name, value := d.KnownBrowser()
	returning := &http.Cookie{Name: name, Value: value}
	status := http.StatusBadGateway // the status after the provider has refused a code
	for status == http.StatusBadGateway {
		cookie, state := d.begun(t, proxy)
		status = d.visit(proxy, back(state), cookie).StatusCode
	}
	require.Equal(t, http.StatusTooManyRequests, status)

	cookie, state := d.begun(t, proxy)
	require.Equal(t, http.StatusBadGateway, d.visit(proxy, back(state), cookie, returning).StatusCode)
	for name, forged := range map[string]string{"no seal": strings.Split(value, ".")[0], "another time": "9" + value, "nothing": ""} {
		cookie, state = d.begun(t, proxy)
		require.Equal(t, http.StatusTooManyRequests, d.visit(proxy, back(state), cookie, &http.Cookie{Name: returning.Name, Value: forged}).StatusCode, name)
	}

	answer := d.visit(proxy, back(state), cookie)
	require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)
	require.Empty(t, answer.Cookies(), "the browser keeps the flow")
	now = now.Add(30 * time.Second)
	require.Equal(t, http.StatusBadGateway, d.visit(proxy, back(state), cookie).StatusCode)

	now = now.Add(30 * 24 * time.Hour)
	before := p.exchanges.Load()
	for range 20 {
		cookie, state = d.begun(t, proxy)
		d.visit(proxy, back(state), cookie, returning)
	}
	require.EqualValues(t, 5, p.exchanges.Load()-before, "the browser was known for 30 days")
}

// A provider that fails is queried again after discoverAgain, not for every sign-in.
func TestAProviderThatIsAwayIsLeftAlone(t *testing.T) {
	t.Parallel()
	p, now := newCountedProvider(t), time.Now()
	p.away.Store(true)
	d := atProvider(t, p, &now)
	for range 100 {
		require.Equal(t, http.StatusBadGateway, d.visit("192.0.2.1", "/auth/oidc", "").StatusCode)
	}
	require.EqualValues(t, 1, p.discoveries.Load())
	p.away.Store(false)
	now = now.Add(5 * time.Second)
	d.begun(t, "192.0.2.1")
	require.EqualValues(t, 2, p.discoveries.Load())
}

// A client that disconnects while Hooklatch gets the provider's endpoints does not prevent other
// users from signing in.
func TestAStrangerWhoHangsUpStopsNobody(t *testing.T) {
	t.Parallel()
	p, now := newCountedProvider(t), time.Now()
	d := atProvider(t, p, &now)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	r := httptest.NewRequest(http.MethodGet, "/auth/oidc", http.NoBody)
	r.Header.Set("Accept", "text/html")
	d.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r.WithContext(gone))
	d.begun(t, "203.0.113.1")
}
