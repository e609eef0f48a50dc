package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func noSecret() gateway.Secret { return gateway.Secret{Value: secret.New("")} }

func refuseSecret(secret.Value) error { return errors.New("must be base64") }

func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

func TestPublicURL(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	elsewhere := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	const called = "/webhooks/orders?a=%2F&b=1+2"
	tests := []struct {
		name    string
		proxies []netip.Prefix
		public  string
		own     string
		proto   string
		host    string
		want    string
	}{
		{name: "the request", want: "http://called.example:81" + called},
		{name: "anybody's headers", proto: "https", host: "evil.example", want: "http://called.example:81" + called},
		{name: "another proxy", proxies: elsewhere, proto: "https", host: "evil.example", want: "http://called.example:81" + called},
		{name: "trusted proxy", proxies: loopback, proto: "https", host: "hooks.example", want: "https://hooks.example" + called},
		{name: "chain of proxies", proxies: loopback, proto: "HTTPS, http", host: "hooks.example, inner", want: "https://hooks.example" + called},
		{name: "nonsense from a trusted proxy", proxies: loopback, proto: "gopher", want: "http://called.example:81" + called},
		{name: "configured", proxies: loopback, public: "https://public.example", proto: "http", host: "other", want: "https://public.example" + called},
		{name: "configured with prefix", public: "https://public.example/in%2Fside/", want: "https://public.example/in%2Fside" + called},
		{name: "of the source", public: "https://public.example", own: "https://own.example/hook", want: "https://own.example/hook?a=%2F&b=1+2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 1)
			p := signer()
			p.Verify = func(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (provider.Verified, error) {
				seen <- r.URL.String()
				return provider.Verified{}, nil
			}
			b := setup(t, func(o *gateway.Options) {
				o.TrustedProxies = test.proxies
				if test.public != "" {
					o.PublicURL = mustURL(test.public)
				}
				o.Sources = []gateway.Source{source("orders", p)}
				if test.own != "" {
					o.Sources[0].PublicURL = mustURL(test.own)
				}
			})
			b.post(t, "orders", `{"id":"a","type":"x"}`, func(r *http.Request) {
				r.Host = "called.example:81"
				r.URL.RawQuery = "a=%2F&b=1+2"
				if test.proto != "" {
					r.Header.Set("X-Forwarded-Proto", test.proto)
				}
				if test.host != "" {
					r.Header.Set("X-Forwarded-Host", test.host)
				}
			})
			require.Equal(t, test.want, <-seen)
		})
	}
}

func TestRemoteAddress(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	tests := []struct {
		name    string
		proxies []netip.Prefix
		xff     []string
		want    string
	}{
		{"nobody is trusted", nil, []string{"203.0.113.9"}, "127.0.0.1"},
		{"trusted proxy", loopback, []string{"203.0.113.9"}, "203.0.113.9"},
		{"spoofed in front", loopback, []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
		{"private is not trusted by itself", loopback, []string{"203.0.113.9, 10.0.0.1"}, "10.0.0.1"},
		{"IPv6 proxy in the chain", loopback, []string{"2001:db8::1, fd00::7"}, "2001:db8::1"},
		{"two headers", loopback, []string{"198.51.100.1", "203.0.113.9"}, "203.0.113.9"},
		{"nonsense", loopback, []string{"203.0.113.9, <script>"}, "127.0.0.1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *gateway.Options) { o.TrustedProxies = test.proxies })
			got := b.post(t, "orders", `{}`, func(r *http.Request) {
				r.Header["X-Forwarded-For"] = test.xff
				r.Header.Set("X-Real-Ip", "192.0.2.1")
				r.Header.Del("X-Signature")
			})
			require.Equal(t, http.StatusUnauthorized, got.status)
			lines := b.logs.lines(t, "delivery refused")
			require.Len(t, lines, 1)
			require.Equal(t, test.want, lines[0]["remote"])
		})
	}
}

// Some proxies write the port into X-Forwarded-For. If the gateway ignored such a header, all
// senders behind the proxy would share one address. The first accepted delivery would then make all
// of them known.
func TestTheAddressOfAForwardedForWithPorts(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) {
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	for i, c := range []struct{ forwarded, want string }{
		{"203.0.113.9", "203.0.113.9"},
		{"203.0.113.9:4711", "203.0.113.9"},
		{"198.51.100.1:1, 203.0.113.9:4711, 10.0.0.1:80", "203.0.113.9"},
		{"203.0.113.9:4711,10.0.0.1", "203.0.113.9"},
		{"[2001:db8::1]:443", "2001:db8::1"},
		{"2001:db8::1", "2001:db8::1"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"203.0.113.9:http", "127.0.0.1"},
		{"nonsense", "127.0.0.1"},
	} {
		got := b.post(t, "orders", `{"id":"a","type":"x"}`, withHeaders("X-Signature", "00", "X-Forwarded-For", c.forwarded))
		require.Equal(t, http.StatusUnauthorized, got.status)
		lines := b.logs.lines(t, "delivery refused")
		require.Len(t, lines, i+1)
		require.Equal(t, c.want, lines[i]["remote"], c.forwarded)
	}
}
