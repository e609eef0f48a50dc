package signin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

func TestNobodyIsLedElsewhere(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		"", "events", "//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, "/%5cevil.example", "/%2f/evil.example/..", "https://evil.example", "https:evil.example",
		"javascript:alert(1)", "/\tevil", "/\n/evil.example", "/\x00", "/ x", "/\x7f", " //evil.example", "http:///evil.example", "/" + strings.Repeat("x", 5_000), "/%zz",
	} {
		require.Equal(t, "/", signin.Local(given), given)
	}
	for given, want := range map[string]string{
		"/": "/", "/events?source=stripe": "/events?source=stripe", "/events/stripe/a%20b": "/events/stripe/a%20b", "/effects/hl_1#x": "/effects/hl_1",
		"/jump?q=https://evil.example": "/jump?q=https://evil.example",
	} {
		require.Equal(t, want, signin.Local(given), given)
	}
}

// No value in a link makes a browser leave the host.
func FuzzNobodyIsLedElsewhere(f *testing.F) {
	for _, given := range []string{"/events?x=1", "//evil.example", `/\evil.example`, "/..//evil.example", "/%2f%2fevil.example", "/.//evil.example", "/;@evil.example"} {
		f.Add(given)
	}
	at, err := url.Parse("https://ops.example.com/hooklatch/login")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, given string) {
		for _, base := range []string{"", "/hooklatch"} {
			to, err := at.Parse(base + signin.Local(given))
			require.NoError(t, err)
			require.Equal(t, "ops.example.com", to.Host)
			require.Equal(t, "https", to.Scheme)
			require.Nil(t, to.User)
		}
	})
}
