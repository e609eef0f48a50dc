package browsertest

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const withTokens = `, token: the-token-of-all, tokens: [{name: vera, role: viewer, token: the-token-of-vera}]`

// A person signs in with the keyboard, comes to what was asked for, and signs out.
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
	b.has(t, "This token is not known.")
	axe.accepts(t, b, "html", "dark", phone)
	b.tabTo(t, "Token", "")
	b.press(t, "the-token-of-vera"+kb.Enter)
	b.at(t, "/help")
	b.has(t, "vera · viewer")
	require.Empty(t, eval[string](t, b, "document.cookie"), "no script reads it")

	b.tabTo(t, "vera · viewer", "")
	b.press(t, kb.Enter)
	axe.accepts(t, b, ".top", "dark", phone)
	b.tabTo(t, "Sign out", "")
	b.press(t, kb.Enter)
	b.at(t, "/login")
	b.open(t, "/login?next=%2Fhelp", http.StatusOK)
	b.has(t, "Sign in")
}
