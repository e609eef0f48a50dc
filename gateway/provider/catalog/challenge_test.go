package catalog

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// The case of an authentication scheme is not significant, and any number of spaces may follow the
// scheme (RFC 9110, 11).
func TestSchemesAreCaseInsensitive(t *testing.T) {
	t.Parallel()
	scheme := regexp.MustCompile(`^(Bearer|Basic) `)
	found := map[string]bool{}
	for name, o := range configured(t) {
		p := provide(t, name, o)
		r := signedSample(t, p, "", "evt_1")
		for header, values := range r.Header {
			spelled := scheme.FindString(values[0])
			if spelled == "" {
				continue
			}
			require.Equal(t, strings.TrimSpace(spelled), p.Challenge, name)
			for _, other := range []string{strings.ToLower(spelled), strings.ToUpper(spelled), spelled + "  ", "b" + strings.ToUpper(spelled[1:])} {
				r.Header.Set(header, other+values[0][len(spelled):])
				require.NoError(t, verifies(t, p, r), "%s: %q", name, other)
			}
			for _, other := range []string{"", strings.TrimSpace(spelled), spelled[:3] + " ", "X" + spelled, spelled[:len(spelled)-1] + "\t"} {
				r.Header.Set(header, other+values[0][len(spelled):])
				if name == "auth0" && other == "" {
					continue // Auth0 also sends tokens without a scheme
				}
				require.Error(t, verifies(t, p, r), "%s: %q", name, other)
			}
			found[p.Name] = true
		}
	}
	require.Equal(t, map[string]bool{
		"auth0": true, "basic": true, "google-pubsub": true, "jwt": true, "postmark": true, "token": true,
	}, found)
}

// Every provider's challenge names exactly one scheme, which is a token as RFC 9110 defines it.
func TestEveryProviderHasAChallenge(t *testing.T) {
	t.Parallel()
	token := regexp.MustCompile(`^[A-Z][A-Za-z0-9-]*$`)
	for name, o := range configured(t) {
		require.Regexp(t, token, provide(t, name, o).Challenge, name)
	}
	for name, want := range map[string]string{
		"basic": "Basic", "postmark": "Basic", "auth0": "Bearer", "stripe": provider.SignatureChallenge, "telegram": "Token", "token query": "Token",
	} {
		require.Equal(t, want, provide(t, name, configured(t)[name]).Challenge, name)
	}
}
