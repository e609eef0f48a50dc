package provider

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// BenchmarkVerify proves a body of 1 kB. The goal is under 10 us.
func BenchmarkVerify(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(configured())) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			p := provide(b, name, configured()[name])
			r := p.Sample("", "evt_1", testNow)
			r.URL = parseURL(b, "https://hooks.example.com/webhooks/demo?tenant=a")
			r.Body = kilobyte(r)
			require.NoError(b, p.Sign(r, keyOf(p), testNow))
			secrets := []secret.Value{keyOf(p)}
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				if _, err := p.Verify(b.Context(), r, secrets, testNow); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEvents reads the id, the type and the time of a body of 1 kB.
func BenchmarkEvents(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(configured())) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			p := provide(b, name, configured()[name])
			r := p.Sample("", "evt_1", testNow)
			r.Body = kilobyte(r)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Events(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// kilobyte returns the body of r, padded to 1 kB.
func kilobyte(r *Request) []byte {
	body, missing := string(r.Body), max(0, 1024-len(r.Body))
	if r.Header.Get("Content-Type") == formType {
		for i := 0; len(body) < 1024; i++ {
			body += "&MediaUrl" + strconv.Itoa(i) + "=" + strings.Repeat("v", 60)
		}
		return []byte(body)
	}
	return []byte(`{"padding":"` + strings.Repeat("x", missing) + `",` + body[1:])
}
