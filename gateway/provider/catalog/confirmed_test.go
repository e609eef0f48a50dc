package catalog

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// withSDK returns the providers whose SDK runs in sdktest's tests.
func withSDK(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../sdktest/sdks.json")
	require.NoError(t, err)
	var runs []struct{ Provider string }
	require.NoError(t, json.Unmarshal(text, &runs))
	with := map[string]bool{}
	for _, run := range runs {
		with[run.Provider] = true
	}
	return with
}

// publishedVectors returns the providers with published vectors for signatures and for
// handshakes.
func publishedVectors(t *testing.T) (signatures, handshakes map[string]bool) {
	t.Helper()
	all, err := allDeliveries()
	require.NoError(t, err)
	signatures, handshakes = map[string]bool{}, map[string]bool{}
	for name, of := range all {
		for _, c := range of.cases {
			switch {
			case c.published == "":
			case c.kind == "handshake":
				handshakes[name] = true
			default:
				signatures[name] = true
			}
		}
	}
	return signatures, handshakes
}

// A published vector is evidence only if the test verifies it exactly as it was published.
func TestPublishedDeliveriesAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	all, err := allDeliveries()
	require.NoError(t, err)
	for name, of := range all {
		for _, c := range of.cases {
			if c.published == "" {
				continue
			}
			require.Nil(t, c.sign, "%s: %s is signed by the test", name, c.name)
			require.NotEqual(t, "refused", c.kind, "%s: %s is refused, so it is no evidence", name, c.name)
			if c.kind == "handshake" {
				continue
			}
			p, _, r := c.received(t, name)
			wrong := of.source.Secrets[0]
			if slices.Contains(c.source.Secrets, wrong) {
				wrong = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" // valid as hex and as base64
			}
			_, err := p.Verify(t.Context(), r, []secret.Value{secretOf(wrong)}, c.source.Clock)
			require.ErrorAs(t, err, new(*provider.VerifyError), "%s: any secret verifies %s", name, c.name)
		}
	}
}

// Every provider declares the evidence for each fact, and the evidence exists: our tests
// verify the vector and run the SDK.
func TestEveryFactIsConfirmedByWhatItNames(t *testing.T) {
	t.Parallel()
	const alone = provider.Nobody | provider.Configured | provider.NoSuchThing
	signatures, handshakes := publishedVectors(t)
	sdks := withSDK(t)
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Describe(name)
			require.NoError(t, err)
			c := p.About.Confirmed
			for fact, e := range c.Facts() {
				require.NotZero(t, e, "%s is not declared", fact)
				if e&alone != 0 {
					require.Len(t, e.Names(), 1, "%s: %v exclude each other", fact, e.Names())
				}
			}
			require.Equal(t, signatures[name], c.Signature&provider.Vector != 0, "evidence for the signature and published vectors differ")
			require.Equal(t, handshakes[name], c.Handshake&provider.Vector != 0, "evidence for the handshake and published vectors differ")
			require.Equal(t, sdks[name], c.Signature&provider.SDK != 0, "evidence for the signature and ../sdktest/sdks.json differ")
			require.Zero(t, (c.EventID|c.RetryWindow|c.Resend)&(provider.Vector|provider.SDK), "vectors and SDKs are evidence only for signatures and handshakes")
			require.Zero(t, c.Handshake&provider.SDK, "SDKs are evidence only for signatures")
			require.Equal(t, p.Handshake == nil, c.Handshake == provider.NoSuchThing, "the handshake and its evidence differ")
		})
	}
}
