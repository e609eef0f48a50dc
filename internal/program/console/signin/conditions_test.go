package signin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

func TestConditionsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`groups.exists(g, g ==)`:    "Syntax error",
		`1 + 1`:                     "yields int; it must be bool",
		`email.endsWidth("x")`:      "undeclared reference to 'endsWidth'",
		`claims.email + 1 == "x" +`: "Syntax error",
		`["a"]`:                     "yields list(string); it must be bool",
		strings.Repeat("[", 40) + strings.Repeat("]", 40) + ` == []`: "at most 32 levels",
		"claims" + strings.Repeat(".a", 40):                          "at most 32 levels",
	} {
		_, err := signin.Conditions{signin.Viewer: text}.Compile(signin.Viewer)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := signin.New(signin.Options{Proxy: &signin.Proxy{User: "X-User"}})
	require.ErrorContains(t, err, "no user could sign in")
	_, err = signin.New(signin.Options{OIDC: &signin.OIDC{}, Roles: signin.Conditions{signin.Viewer: "true"}})
	require.ErrorContains(t, err, "needs the URL of the console")
}
