package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp/kb"
	"github.com/hashicorp/cap/oidc"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
)

const withTokens = anyPort + `, token: the-token-of-all, tokens: [{name: vera, role: viewer, token: the-token-of-vera},
	{name: somebody-with-a-long-name-somebody-with-a-long-name-of-63-bytes, role: operator, token: the-token-of-a-long-name}]`

// openMenu unfolds the navigation, which a narrow window folds.
func (b *tab) openMenu(t *testing.T) {
	t.Helper()
	b.tabTo(t, "Menu", "")
	b.press(t, kb.Enter)
	b.until(t, `document.querySelector(".menu").open`)
}

// A user signs in with the keyboard, reaches the requested page, and signs out.
func TestSigningInWithAToken(t *testing.T) {
	t.Parallel()
	axe, s := readAxe(t), startSystemWith(t, withTokens)
	b := openTab(t, s.site)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{wide, phone} {
			b.width(t, width)
			b.media(t, "prefers-color-scheme", scheme, "prefers-reduced-motion", "reduce")
			b.open(t, "/login?next=%2Fhelp", http.StatusOK)
			axe.accepts(t, b, "html", scheme, width)
		}
	}
	b.expectError("/login")
	b.tabTo(t, "Token", "")
	b.press(t, "the-wrong-token"+kb.Enter)
	b.has(t, "Unknown token.")
	axe.accepts(t, b, "html", "dark", phone)
	b.tabTo(t, "Token", "")
	b.press(t, "the-token-of-vera"+kb.Enter)
	b.at(t, "/help")
	b.openMenu(t)
	b.has(t, "vera · viewer")
	require.Empty(t, eval[string](t, b, "document.cookie"), "no script can read the cookie")

	b.tabTo(t, "vera · viewer", "")
	b.press(t, kb.Enter)
	axe.accepts(t, b, ".top", "dark", phone)
	b.tabTo(t, "Sign out", "")
	b.press(t, kb.Enter)
	b.at(t, "/login")
	b.open(t, "/login?next=%2Fhelp", http.StatusOK)
	b.has(t, "Sign in")

	b.width(t, narrow)
	b.tabTo(t, "Token", "")
	b.press(t, "the-token-of-a-long-name"+kb.Enter)
	b.at(t, "/help")
	b.openMenu(t)
	b.has(t, "ong-name-of-63-bytes · operator")
	require.True(t, eval[bool](t, b, "document.documentElement.scrollWidth <= innerWidth"), "the page does not scroll sideways")
}

// A user signs in with the OIDC provider's form, and reaches the requested page. A user without a
// role sees an explanation.
func TestSigningInAtAProvider(t *testing.T) {
	t.Parallel()
	axe, provider := readAxe(t), oidc.StartTestProvider(t, oidc.WithNoTLS())
	provider.SetClientCreds("hooklatch", "the-client-secret")
	provider.SetExpectedExpiry(time.Minute)
	addresses, err := freeport.Addresses(1)
	require.NoError(t, err)
	listen := addresses[0]
	s := startSystemWith(t, fmt.Sprintf(`listen: %q, console_url: "http://%s", auth: {oidc: {issuer: %q, client_id: hooklatch, client_secret: the-client-secret},
		roles: {operator: 'sub == "alice"'}}`, listen, listen, provider.Addr()))
	provider.SetAllowedRedirectURIs([]string{s.site + "/auth/callback"})
	provider.SetSubjectInfo(map[string]*oidc.TestSubject{
		"alice": {Password: "the-password-of-alice", CustomClaims: map[string]any{"email": "alice@example.com"}},
		"bob":   {Password: "the-password-of-bob", CustomClaims: map[string]any{"email": "bob@example.com"}},
	})

	b := openTab(t, s.site)
	b.also = provider.Addr()
	signIn := func(name string) {
		b.open(t, "/help", http.StatusOK)
		b.at(t, "/login?next=%2Fhelp")
		axe.accepts(t, b, "html", "light", wide)
		b.tabTo(t, "Sign in at "+provider.Addr()[len("http://"):], "")
		b.press(t, kb.Enter)
		b.until(t, `document.querySelector("#username") !== null`)
		// The test provider does not compare challenges, so the test sets the verifier that the
		// provider expects.
		for _, cookie := range call(t, b, network.GetCookies, network.GetCookiesParams{URLs: []string{s.site}}).Cookies {
			if cookie.Name == "hooklatch-oidc" {
				require.True(t, cookie.HTTPOnly)
				pkce, err := oidc.NewCodeVerifier(oidc.WithVerifier(verifierIn(t, cookie.Value)))
				require.NoError(t, err)
				provider.SetPKCEVerifier(pkce)
			}
		}
		b.until(t, `(document.querySelector("#username").focus(), document.activeElement.id === "username")`)
		b.press(t, name+kb.Tab+"the-password-of-"+name+kb.Enter)
	}
	b.refuse(s.site + "/auth/callback")
	signIn("bob")
	b.has(t, "You are bob@example.com and have no role here.")
	axe.accepts(t, b, "html", "dark", wide)
	signIn("alice")
	b.at(t, "/help")
	b.has(t, "alice@example.com · operator")
	b.tabTo(t, "alice@example.com · operator", "")
	b.press(t, kb.Enter)
	b.tabTo(t, "Sign out everywhere", "")
	b.press(t, kb.Enter)
	b.at(t, "/login")
}
