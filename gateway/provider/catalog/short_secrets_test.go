package catalog

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestShortSecretsAreRefused covers every provider, and secrets that follow a prefix or a user
// name.
func TestShortSecretsAreRefused(t *testing.T) {
	t.Parallel()
	named := []string{"basic", "postmark", "braintree"} // their secrets have the form name:password
	for _, name := range Names() {
		p := provide(t, name, configured(t)[name])
		short := []string{"x", "aa", "1234567", "whsec_AAAA", "whsec_1234567", "0a", "u:1"}
		if slices.Contains(named, name) {
			short = append(short, "a-long-user-name:1", "a-long-user-name:1234567")
		}
		for _, s := range short {
			require.Error(t, p.CheckSecret(secret.New(s)), "%s %s", name, s)
		}
	}
	for _, name := range []string{"github", "gitlab", "token", "telegram", "microsoft-graph", "okta", "auth0", "mailgun", "zoom"} {
		p := provide(t, name, configured(t)[name])
		require.ErrorContains(t, p.CheckSecret(secret.New("x")), "fewer than 8 bytes", name)
		require.NoError(t, p.CheckSecret(secret.New("12345678")), name)
	}
	for _, name := range named {
		p := provide(t, name, configured(t)[name])
		require.ErrorContains(t, p.CheckSecret(secret.New("a-long-user-name:1234567")), "fewer than 8 bytes", name)
		require.NoError(t, p.CheckSecret(secret.New("u:12345678")), name)
	}
}

// TestEncodedSecretsCountAsTheKeyTheySpell covers encoded secrets: the text is longer than the
// key, but an attacker only has to guess the key.
func TestEncodedSecretsCountAsTheKeyTheySpell(t *testing.T) {
	t.Parallel()
	p := provide(t, "standard-webhooks", configured(t)["standard-webhooks"])
	spell := func(key string) secret.Value {
		return secret.New("whsec_" + base64.StdEncoding.EncodeToString([]byte(key)))
	}
	require.ErrorContains(t, p.CheckSecret(spell("1234567")), "fewer than 8 bytes")
	require.NoError(t, p.CheckSecret(spell("12345678")))
}

// A provider accepts a secret only if its length is in the range that the provider's page names.
func TestSecretsHaveTheLengthsThatThePageNames(t *testing.T) {
	t.Parallel()
	lengths := regexp.MustCompile(`secret of (\d+) to (\d+) characters`)
	named := 0
	for _, name := range Names() {
		p := provide(t, name, configured(t)[name])
		for _, step := range p.About.Setup {
			found := lengths.FindStringSubmatch(step)
			if found == nil {
				continue
			}
			named++
			shortest, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			longest, err := strconv.Atoi(found[2])
			require.NoError(t, err)
			for length, allowed := range map[int]bool{shortest - 1: false, shortest: true, longest: true, longest + 1: false} {
				require.Equal(t, allowed, p.CheckSecret(secret.New(strings.Repeat("a", length))) == nil, "%s: %d", name, length)
			}
		}
	}
	require.NotZero(t, named)
}
