package browsertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/cap/oidc"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// party is a guard that signs users in, its OIDC provider, and one browser.
type party struct {
	provider *oidc.TestProvider
	pool     *pgxpool.Pool
	site     string
	client   *http.Client
}

func newParty(t *testing.T) *party {
	t.Helper()
	p := &party{provider: oidc.StartTestProvider(t, oidc.WithNoTLS()), pool: pgtest.New(t)}
	p.provider.SetClientCreds("hooklatch", "the-client-secret")
	p.provider.SetExpectedAuthCode("the-code")
	p.provider.SetExpectedExpiry(time.Minute)
	p.claims(map[string]any{"email": "ada@example.com", "groups": []string{"oncall"}})
	p.serve(t, "email.endsWith('@example.com')")
	p.provider.SetAllowedRedirectURIs([]string{p.site + "/auth/callback"})
	return p
}

// serve replaces the guard with a guard that has this condition for viewers.
func (p *party) serve(t *testing.T, viewers string) {
	t.Helper()
	logins, err := signin.NewLogins(p.pool, "")
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	if p.site == "" {
		p.site = "http://" + server.Listener.Addr().String()
	}
	at, err := url.Parse(p.site)
	require.NoError(t, err)
	guard, err := signin.New(signin.Options{
		OIDC:       &signin.OIDC{Issuer: p.provider.Addr(), ClientID: "hooklatch", ClientSecret: secret.New("the-client-secret"), Scopes: []string{"openid", "email"}},
		Roles:      signin.Conditions{signin.Viewer: viewers, signin.Operator: `groups.exists(g, g == "oncall")`},
		ConsoleURL: at, Logins: logins,
		Page: func(w http.ResponseWriter, _ *http.Request, page signin.Page) {
			w.WriteHeader(page.Status)
			_, _ = io.WriteString(w, page.Wrong)
		},
		Tokens: []signin.Token{{Role: signin.Admin, Secret: secret.New("the-token")}},
	})
	require.NoError(t, err)
	server.Config.Handler = guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person := signin.PersonOf(r.Context())
		fmt.Fprintf(w, "%s %s %s", person.Name, person.Role, person.Way)
	}))
	server.Start()
	t.Cleanup(server.Close)
	transport := &http.Transport{DisableKeepAlives: true}
	if p.client == nil {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		p.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	} else {
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: server.Listener.Addr().String()}) // the browser sees the same site
	}
	p.client.Transport = transport
}

func (p *party) claims(claims map[string]any) { p.provider.SetCustomClaims(claims) }

// get sends a request like a browser, and returns the response.
func (p *party) get(t *testing.T, path string) (status int, text, location string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.site+path, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html")
	answer, err := p.client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body), answer.Header.Get("Location")
}

// begin starts a sign-in, and returns the state and nonce in the request to the provider.
func (p *party) begin(t *testing.T) (state, nonce string) {
	t.Helper()
	status, _, location := p.get(t, "/auth/oidc?next=/effects")
	require.Equal(t, http.StatusSeeOther, status)
	to, err := url.Parse(location)
	require.NoError(t, err)
	asked := to.Query()
	require.Equal(t, p.provider.Addr()+"/authorize", to.Scheme+"://"+to.Host+to.Path)
	require.Equal(t, "code", asked.Get("response_type"))
	require.Equal(t, "openid email", asked.Get("scope"))
	require.Equal(t, p.site+"/auth/callback", asked.Get("redirect_uri"))
	require.Equal(t, "S256", asked.Get("code_challenge_method"))
	verifier := verifierIn(t, p.flow(t))
	sum := sha256.Sum256([]byte(verifier))
	require.Equal(t, base64.RawURLEncoding.EncodeToString(sum[:]), asked.Get("code_challenge"))
	pkce, err := oidc.NewCodeVerifier(oidc.WithVerifier(verifier))
	require.NoError(t, err)
	p.provider.SetPKCEVerifier(pkce)
	p.provider.SetExpectedAuthNonce(asked.Get("nonce"))
	return asked.Get("state"), asked.Get("nonce")
}

// flow returns the cookie of a sign-in that is in progress.
func (p *party) flow(t *testing.T) string { return p.cookie(t, "hooklatch-oidc") }

// cookie returns the value of one of the browser's cookies, or "".
func (p *party) cookie(t *testing.T, name string) string {
	t.Helper()
	at, err := url.Parse(p.site)
	require.NoError(t, err)
	for _, cookie := range p.client.Jar.Cookies(at) {
		if cookie.Name == name {
			return cookie.Value
		}
	}
	return ""
}

func verifierIn(t *testing.T, flow string) string {
	t.Helper()
	encoded, _, _ := strings.Cut(flow, ".") // the rest is the seal
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	require.NoError(t, err)
	var begun struct{ Verifier string }
	require.NoError(t, json.Unmarshal(text, &begun))
	require.Len(t, begun.Verifier, 43)
	return begun.Verifier
}

// end follows the provider's redirect back, and returns the response.
func (p *party) end(t *testing.T, state string) (status int, text, location string) {
	t.Helper()
	return p.get(t, "/auth/callback?"+url.Values{"state": {state}, "code": {"the-code"}}.Encode())
}

// signIn signs in through the provider, and returns the response that ends the sign-in.
func (p *party) signIn(t *testing.T) (status int, text, location string) {
	t.Helper()
	state, _ := p.begin(t)
	return p.end(t, state)
}

func (p *party) logins(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, p.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.console_logins`).Scan(&n))
	return n
}

func TestSigningInByOIDC(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	for _, c := range []struct {
		claims map[string]any
		who    string
	}{
		{map[string]any{"email": "ada@example.com", "groups": []string{"oncall", "cooks"}}, "ada@example.com operator oidc"},
		{map[string]any{"email": "ada@example.com", "groups": "oncall"}, "ada@example.com operator oidc"},
		{map[string]any{"email": "bea@example.com", "email_verified": true}, "bea@example.com viewer oidc"},
		{map[string]any{"email": "eve@example.com", "email_verified": false, "preferred_username": "eve", "groups": []string{"oncall"}}, "eve operator oidc"},
		{map[string]any{"groups": []string{"oncall"}}, "alice@example.com operator oidc"}, // named by the subject
	} {
		p.claims(c.claims)
		status, text, location := p.signIn(t)
		require.Equal(t, http.StatusSeeOther, status, text)
		require.Equal(t, "/effects", location)
		_, who, _ := p.get(t, location)
		require.Equal(t, c.who, who)
		require.Empty(t, p.flow(t), "the flow is used up")
		require.NotEmpty(t, p.cookie(t, "hooklatch-known"), "the browser has a share of later sign-ins")
	}
	require.Equal(t, 1, p.logins(t), "a browser has one login")
}

func TestWhoHasNoRoleIsRefused(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	for _, claims := range []map[string]any{
		{"email": "ada@elsewhere.example", "groups": []string{"cooks"}},
		{"email": "ada@example.com", "email_verified": false},
		{"groups": 42},
		{},
	} {
		p.claims(claims)
		status, text, _ := p.signIn(t)
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, text, "and have no role here")
	}
	require.Zero(t, p.logins(t))
	require.Empty(t, p.cookie(t, "hooklatch-known"))
}

// A redirect is refused if it does not belong to a sign-in in this browser.
func TestTheWayBackIsOfThisBrowser(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	status, text, _ := p.end(t, "")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "was not started in this browser")
	_, _ = p.begin(t)
	status, _, _ = p.end(t, "another-state")
	require.Equal(t, http.StatusBadRequest, status, "a wrong state")
	state, _ := p.begin(t)
	status, _, _ = p.end(t, "another-state")
	require.Equal(t, http.StatusBadRequest, status)
	status, _, _ = p.end(t, state)
	require.Equal(t, http.StatusBadRequest, status, "a flow has one try")

	state, _ = p.begin(t)
	p.provider.SetExpectedAuthNonce("another-nonce")
	status, text, _ = p.end(t, state)
	require.Equal(t, http.StatusBadGateway, status, "a wrong nonce")
	require.NotContains(t, text, "nonce", "the reason is only in the log")

	state, _ = p.begin(t)
	other, err := oidc.NewCodeVerifier()
	require.NoError(t, err)
	p.provider.SetPKCEVerifier(other)
	status, _, _ = p.end(t, state)
	require.Equal(t, http.StatusBadGateway, status, "a code that was issued to another client")

	state, _ = p.begin(t)
	status, text, _ = p.get(t, "/auth/callback?"+url.Values{"state": {state}, "error": {"access_denied"}}.Encode())
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, text, "refused: access_denied")
	require.Zero(t, p.logins(t))
}

func TestTokensOfTheProviderAreVerified(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	p.provider.SetExpectedExpiry(-time.Minute)
	status, _, _ := p.signIn(t)
	require.Equal(t, http.StatusBadGateway, status, "expired")
	p.provider.SetExpectedExpiry(time.Minute)
	p.provider.SetClientCreds("somebody-else", "the-client-secret")
	status, _, _ = p.signIn(t)
	require.Equal(t, http.StatusBadGateway, status, "the token is for another client")
	p.provider.SetClientCreds("hooklatch", "the-client-secret")
	p.provider.SetOmitIDTokens(true)
	status, _, _ = p.signIn(t)
	require.Equal(t, http.StatusBadGateway, status, "the response has no token")
	p.provider.SetOmitIDTokens(false)
	require.Zero(t, p.logins(t))

	status, _, _ = p.signIn(t)
	require.Equal(t, http.StatusSeeOther, status)
	public, private := oidc.TestGenerateKeys(t)
	p.provider.SetSigningKeys(private, public, oidc.ES256, "the-next-key")
	status, _, _ = p.signIn(t)
	require.Equal(t, http.StatusSeeOther, status, "after a rotation, the keys are read again")
	public, private = oidc.TestGenerateKeys(t)
	p.provider.SetSigningKeys(private, public, oidc.ES256, "a-key-that-is-not-published")
	p.provider.SetInvalidJWKS(true)
	status, _, _ = p.signIn(t)
	require.Equal(t, http.StatusBadGateway, status, "a key that the provider does not name")
}

// An unavailable provider affects only sign-in through this provider.
func TestAProviderThatIsAway(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	p.provider.Stop()
	status, text, _ := p.get(t, "/auth/oidc")
	require.Equal(t, http.StatusBadGateway, status)
	require.Contains(t, text, "does not answer")
	status, _, _ = p.get(t, "/login")
	require.Equal(t, http.StatusOK, status)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.site, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer the-token")
	answer, err := p.client.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

// A login ends when the conditions for its role change.
func TestALoginEndsWithItsConditions(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	status, _, _ := p.signIn(t)
	require.Equal(t, http.StatusSeeOther, status)
	p.serve(t, "email.endsWith('@example.com')")
	status, text, _ := p.get(t, "/")
	require.Equal(t, http.StatusOK, status, "other processes accept the login too")
	require.True(t, strings.HasPrefix(text, "ada@example.com operator"), text)
	p.serve(t, "false")
	status, _, location := p.get(t, "/")
	require.Equal(t, http.StatusSeeOther, status)
	require.Equal(t, "/login", location)
}
