package signin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// A login's basis covers all its properties, and a secret that the database does not contain.
func TestALoginReliesOnItsPersonAndOnASecret(t *testing.T) {
	t.Parallel()
	ada := Person{Name: "ada", Role: Viewer, Way: WayToken}
	basis := basisOf("cookie", ada, "deploy", "secret")
	for name, other := range map[string][]byte{
		"cookie": basisOf("another", ada, "deploy", "secret"),
		"name":   basisOf("cookie", Person{Name: "bob", Role: Viewer, Way: WayToken}, "deploy", "secret"),
		"role":   basisOf("cookie", Person{Name: "ada", Role: Admin, Way: WayToken}, "deploy", "secret"),
		"way":    basisOf("cookie", Person{Name: "ada", Role: Viewer, Way: WayOIDC}, "deploy", "secret"),
		"token":  basisOf("cookie", ada, "another", "secret"),
		"secret": basisOf("cookie", ada, "deploy", "another"),
		"seams":  basisOf("cookie", Person{Name: "adaviewer", Way: WayToken}, "deploy", "secret"),
	} {
		require.NotEqual(t, basis, other, name)
	}

	g := &Guard{oidc: &relyingParty{opts: OIDC{Issuer: "https://id.example.com", ClientID: "hooklatch"}}}
	one, two := secret.New("the-client-secret"), secret.New("another-client-secret")
	g.oidc.secret.Store(&one)
	before := g.oidcBasis()
	g.oidc.secret.Store(&two)
	require.NotEqual(t, before, g.oidcBasis(), "the basis must cover a secret: everything else is public or in the configuration")
}

// An email address is ignored unless email_verified is absent, true or "true".
func TestAnUnverifiedAddressIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims map[string]any
		kept   bool
	}{
		"not said":        {map[string]any{}, true},
		"true":            {map[string]any{"email_verified": true}, true},
		"true as text":    {map[string]any{"email_verified": "true"}, true},
		"false":           {map[string]any{"email_verified": false}, false},
		"false as text":   {map[string]any{"email_verified": "false"}, false},
		"another text":    {map[string]any{"email_verified": "yes"}, false},
		"a number":        {map[string]any{"email_verified": 1.0}, false},
		"nothing":         {map[string]any{"email_verified": nil}, false},
		"a list of truth": {map[string]any{"email_verified": []any{true}}, false},
	} {
		c.claims["email"] = "eve@example.com"
		_, kept := tidied(c.claims)["email"]
		require.Equal(t, c.kept, kept, name)
	}
}
