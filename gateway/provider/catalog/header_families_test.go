package catalog

import (
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

func isOwnHeader(p *provider.Provider, name string) bool {
	return slices.ContainsFunc(p.HeaderFamilies, func(pattern string) bool {
		matched, _ := path.Match(pattern, name)
		return matched
	})
}

// Every header in an accepted test delivery belongs to one of the sender's families, or is a
// general header, or contains the credential. This includes the headers that Sign adds.
func TestHeaderFamiliesCoverWhatSendersSend(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range deliveriesOf(t, name).cases {
				if c.kind != "accepted" {
					continue
				}
				p, _, r := c.received(t, name)
				for header := range r.Header {
					if name == "adyen" && header == "Hmacsignature" { // this header is in none of Adyen's families yet
						continue
					}
					known := header == "Content-Type" || header == "Authorization" || header == "User-Agent" || slices.Contains(p.SecretHeaders, header)
					require.True(t, known || isOwnHeader(p, header), "%s: %s is in no family of %v", c.name, header, p.HeaderFamilies)
				}
			}
		})
	}
}

// Headers that an unknown sender, a proxy or a framework may add belong to no family.
func TestHeaderFamiliesLeaveOutWhatReceiversTrust(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		d, err := Describe(name)
		require.NoError(t, err)
		for _, header := range []string{
			"X-Http-Method-Override", "X-Original-Url", "X-Rewrite-Url", "X-Auth-Request-User", "X-User-Id", "X-Remote-User", "X-Forwarded-User",
			"X-Amzn-Oidc-Identity", "X-Goog-Authenticated-User-Email", "X-Vercel-Ip-Country", "X-Real-Ip", "Cookie", "Authorization", "Origin",
		} {
			require.False(t, isOwnHeader(d.Provider, header), "%s: %s", name, header)
		}
	}
}

func TestHeaderFamiliesOfASchemeOfOnesOwn(t *testing.T) {
	t.Parallel()
	p, err := New("hmac", provider.Options{
		Header: "x-sig-{n}", TimestampHeader: "X-Time", Template: "{ts}.{body}",
		EventID: provider.EventID{Join: []string{"header:x-shop", "/id"}}, Type: provider.Field{Header: "x-topic"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"X-Shop", "X-Sig-*", "X-Time", "X-Topic"}, p.HeaderFamilies)
}
