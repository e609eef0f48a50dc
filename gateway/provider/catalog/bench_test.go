package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// BenchmarkVerify verifies a body of 1 kB. The goal is under 10 us for an HMAC. Signatures of a key
// pair take longer, and have no goal.
func BenchmarkVerify(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(configured(b))) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			p := provide(b, name, configured(b)[name])
			r, secrets := kilobyte(b, p), []secret.Value{keyOf(b, p)}
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				if _, err := p.Verify(b.Context(), r, secrets, prooftest.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerifyAmong verifies one source's deliveries while other providers have sources too. The
// cost must not depend on the number of these sources.
func BenchmarkVerifyAmong(b *testing.B) {
	all := slices.Sorted(maps.Keys(configured(b)))
	for _, others := range []int{0, len(all) / 2, len(all)} {
		b.Run(strconv.Itoa(others), func(b *testing.B) {
			sources := sourcesOf(b, all[:others])
			r := kilobyte(b, sources["stripe"])
			secrets := []secret.Value{keyOf(b, sources["stripe"])}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sources["stripe"].Verify(b.Context(), r, secrets, prooftest.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNothingGrowsWithProviders checks that a delivery causes the same number of allocations
// whether all providers are built or only its own provider and stripe.
//
//nolint:paralleltest // counts allocations, which all tests of the process share
func TestNothingGrowsWithProviders(t *testing.T) {
	all := slices.Sorted(maps.Keys(configured(t)))
	everything := sourcesOf(t, all)
	for _, name := range []string{"stripe", "github", "twilio", "slack", "standard-webhooks", "line", "pagerduty", "hmac"} {
		cost := func(p *provider.Provider) float64 {
			r, secrets := kilobyte(t, p), []secret.Value{keyOf(t, p)}
			return testing.AllocsPerRun(100, func() {
				_, err := p.Verify(t.Context(), r, secrets, prooftest.Now())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Events(r); err != nil {
					t.Fatal(err)
				}
			})
		}
		alone := sourcesOf(t, []string{name})[name]
		require.InDelta(t, cost(alone), cost(everything[name]), 1, name) // a sync.Pool of the standard library may be empty once
	}
}

// sourcesOf builds the named providers, and stripe in any case.
func sourcesOf(t testing.TB, names []string) map[string]*provider.Provider {
	t.Helper()
	sources := map[string]*provider.Provider{"stripe": provide(t, "stripe", provider.Options{})}
	for _, name := range names {
		sources[name] = provide(t, name, configured(t)[name])
	}
	return sources
}

// BenchmarkEvents reads the id, the type and the time from a body of 1 kB.
func BenchmarkEvents(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(configured(b))) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			p := provide(b, name, configured(b)[name])
			r := kilobyte(b, p)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Events(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// kilobyte returns a signed delivery with a body of at least 1 kB.
func kilobyte(t testing.TB, p *provider.Provider) *provider.Request {
	t.Helper()
	r := p.Sample("", "evt_1", prooftest.Now())
	r.URL = prooftest.URL("https://hooks.example.com/webhooks/demo?tenant=a")
	body, missing := string(r.Body), max(0, 1024-len(r.Body))
	switch {
	case r.Header.Get("Content-Type") == proof.FormType:
		for i := 0; len(body) < 1024; i++ {
			body += fmt.Sprintf("&MediaUrl%d=%s", i, strings.Repeat("v", 60))
		}
	case strings.HasPrefix(body, "{"):
		body = `{"padding":"` + strings.Repeat("x", missing) + `",` + body[1:]
	default:
		body += strings.Repeat(" ", missing)
	}
	r.Body = []byte(body)
	require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
	return r
}
