package catalog

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// sdkRun is an provider.SDK that the tests of sdktest run. A test there holds the list
// against those tests.
type sdkRun struct {
	Provider string   `json:"provider"`
	Go       []string `json:"go"`  // modules
	NPM      []string `json:"npm"` // packages
}

// ranSDKs lists the SDKs that are run, with their versions, by provider.
func ranSDKs(t *testing.T) map[string][]string {
	t.Helper()
	read := func(path string) []byte {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return text
	}
	var runs []sdkRun
	require.NoError(t, json.Unmarshal(read("../sdktest/sdks.json"), &runs))
	var npm struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	require.NoError(t, json.Unmarshal(read("../sdktest/npm/package.json"), &npm))
	modules := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\s*(\S+) (v\S+)`).FindAllStringSubmatch(string(read("../sdktest/go.mod")), -1) {
		modules[match[1]] = match[2]
	}

	ran := map[string][]string{}
	for _, run := range runs {
		for _, module := range run.Go {
			require.NotEmpty(t, modules[module], "../sdktest/go.mod requires no %s", module)
			ran[run.Provider] = append(ran[run.Provider], "`"+module+"` "+strings.TrimSuffix(modules[module], "+incompatible"))
		}
		for _, name := range run.NPM {
			require.NotEmpty(t, npm.Dependencies[name], "../sdktest/npm/package.json requires no %s", name)
			ran[run.Provider] = append(ran[run.Provider], "`"+name+"` "+npm.Dependencies[name]+" of npm")
		}
	}
	return ran
}

// publishedVectors tells of which providers there are published vectors: of
// signatures, and of handshakes.
func publishedVectors(t *testing.T) (signatures, handshakes map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	all, err := allDeliveries()
	require.NoError(t, err)
	signatures, handshakes = map[string]bool{}, map[string]bool{}
	add := func(provider string, isHandshake bool) {
		if isHandshake {
			handshakes[provider] = true
		} else {
			signatures[provider] = true
		}
	}
	for _, v := range vectors {
		add(v.Provider, v.Challenge != "")
	}
	for name, of := range all {
		for _, c := range of.cases {
			if c.published != "" {
				add(name, c.kind == "handshake")
			}
		}
	}
	return signatures, handshakes
}

// A published vector proves something only as it was published.
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
			require.NotEqual(t, "refused", c.kind, "%s: %s proves nothing", name, c.name)
			if c.kind == "handshake" {
				continue
			}
			p, _, r := c.received(t, name)
			_, err := p.Verify(t.Context(), r, []secret.Value{secretOf(of.source.Secrets[0])}, c.source.Clock)
			require.ErrorAs(t, err, new(*provider.VerifyError), "%s: %s is proven by any secret", name, c.name)
		}
	}
}

// factsOf lists what is confirmed, by the names of its JSON.
func factsOf(c provider.Confirmed) map[string]provider.Evidence {
	return map[string]provider.Evidence{
		"signature": c.Signature, "event_id": c.EventID, "handshake": c.Handshake, "retry_window": c.RetryWindow, "resend": c.Resend,
	}
}

// Every provider says of each fact by what it is confirmed, and what it names
// is there: the vector among those that our tests verify, the SDK among those
// that they run.
func TestEveryFactIsConfirmedByWhatItNames(t *testing.T) {
	t.Parallel()
	const alone = provider.Nobody | provider.Configured | provider.NoSuchThing
	signatures, handshakes := publishedVectors(t)
	ran := ranSDKs(t)
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Describe(name)
			require.NoError(t, err)
			c := p.About.Confirmed
			for fact, e := range factsOf(c) {
				require.NotZero(t, e, "%s is not declared", fact)
				if e&alone != 0 {
					require.Len(t, e.Names(), 1, "%s: %v exclude each other", fact, e.Names())
				}
			}
			require.Equal(t, signatures[name], c.Signature&provider.Vector != 0, "there is a published vector of its signature")
			require.Equal(t, handshakes[name], c.Handshake&provider.Vector != 0, "there is a published vector of its handshake")
			require.Equal(t, len(ran[name]) > 0, c.Signature&provider.SDK != 0, "../sdktest/sdks.json lists it")
			require.Zero(t, (c.EventID|c.RetryWindow|c.Resend)&(provider.Vector|provider.SDK), "vectors and SDKs prove signatures")
			require.Zero(t, c.Handshake&provider.SDK, "SDKs prove signatures")
			require.Equal(t, p.Handshake == nil, c.Handshake == provider.NoSuchThing, "it answers a handshake or there is none")
		})
	}
}

// byWhat spells evidence for people; sdks are those that are run.
func byWhat(e provider.Evidence, sdks []string) string {
	texts := map[provider.Evidence]string{
		provider.Documentation: "the sender's documentation or code",
		provider.Vector:        "a published vector",
		provider.SDK:           "what our tests run: " + strings.Join(sdks, ", "),
		provider.Others:        "code and texts of others",
		provider.Nobody:        "nobody: verify it before you rely on it",
		provider.Configured:    "your configuration",
		provider.NoSuchThing:   "-",
	}
	var parts []string
	for one := provider.Documentation; one <= provider.NoSuchThing; one <<= 1 {
		if e&one != 0 {
			parts = append(parts, texts[one])
		}
	}
	return strings.Join(parts, "; ")
}
