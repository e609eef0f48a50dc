package destination

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestGuardRefusesEveryFormOfAnAddress(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/guard_refused.txt")
	require.NoError(t, err)
	h := newTestHTTP(t, HTTPOptions{
		URL: "https://hooks.example.com/in",
		Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			t.Error("a name was looked up")
			return nil, errors.New("no resolver here")
		}},
	})
	count := 0
	for line := range strings.Lines(string(content)) {
		form := strings.TrimSpace(line)
		if form == "" || strings.HasPrefix(form, "#") {
			continue
		}
		count++
		e := testEffect()
		e.Request.URL = form
		out := h.Send(t.Context(), e)
		require.Equal(t, ledger.VerdictRefused, out.Verdict, "%s: %v", form, out.Err)
		require.Regexp(t, "^(egress guard refused|url )", out.Err.Error(), form)
		require.NotContains(t, out.Err.Error(), "canary", form)
	}
	require.Greater(t, count, 60)
}

func TestGuardRefusesPrivateAddressesOfADestinationsOwnName(t *testing.T) {
	t.Parallel()
	// A name is not a literal address: the private addresses to which it resolves need
	// allow_private.
	h := newTestHTTP(t, HTTPOptions{
		URL: "http://crm.example.com:8080/", Resolver: resolveTo(t, func() netip.Addr { return netip.MustParseAddr("10.1.2.3") }),
	})
	out := h.Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictRefused, out.Verdict)
	require.EqualError(t, out.Err, "egress guard refused crm.example.com: 10.1.2.3 is not a global address, and allow_private does not name it")
}

func TestGuardChecksWhatANameResolvesToEachTime(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	target, err := url.Parse(receive(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	require.NoError(t, err)
	var address atomic.Pointer[netip.Addr]
	point := func(s string) { ip := netip.MustParseAddr(s); address.Store(&ip) }
	h := newTestHTTP(t, HTTPOptions{
		URL:          "http://rebind.example.com:" + target.Port(),
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Resolver:     resolveTo(t, func() netip.Addr { return *address.Load() }),
	})

	point("127.0.0.1")
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), testEffect()).Verdict)
	require.NoError(t, h.Close())
	for _, rebound := range []string{"127.0.0.2", "169.254.1.1", "0.0.0.0"} {
		point(rebound)
		out := h.Send(t.Context(), testEffect())
		require.Equal(t, ledger.VerdictRefused, out.Verdict, rebound)
		require.ErrorContains(t, out.Err, rebound+" is not a global address")
	}
	require.EqualValues(t, 1, calls.Load())
}

func TestGuardExemptsHostAndPortOfTheConfiguredURLOnly(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	own, other := receive(t, ok), receive(t, ok)
	ownURL, err := url.Parse(own)
	require.NoError(t, err)
	localhost := "http://localhost:" + ownURL.Port()

	for _, c := range []struct {
		name, configured, url string
		allow                 string
		want                  ledger.Verdict
	}{
		{name: "own literal", configured: own, want: ledger.VerdictDone},
		{name: "own literal, computed path", configured: own, url: own + "/tenants/7", want: ledger.VerdictDone},
		{name: "own localhost", configured: localhost, want: ledger.VerdictDone},
		{name: "own localhost, other spelling", configured: localhost, url: "http://LocalHost.:" + ownURL.Port(), want: ledger.VerdictDone},
		{name: "other port", configured: own, url: other, want: ledger.VerdictRefused},
		{name: "localhost for a literal", configured: own, url: localhost, want: ledger.VerdictRefused},
		{name: "literal for localhost", configured: localhost, url: own, want: ledger.VerdictRefused},
		{name: "own literal with a user", configured: own, url: strings.Replace(own, "//", "//user@", 1), want: ledger.VerdictRefused},
		{name: "other port, allowed", configured: own, url: other, allow: "127.0.0.0/8", want: ledger.VerdictDone},
		{name: "localhost, allowed", configured: own, url: localhost, allow: "127.0.0.0/8", want: ledger.VerdictDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := HTTPOptions{URL: c.configured}
			if c.allow != "" {
				o.AllowPrivate = []netip.Prefix{netip.MustParsePrefix(c.allow)}
			}
			e := testEffect()
			e.Request.URL = c.url
			out := newTestHTTP(t, o).Send(t.Context(), e)
			require.Equal(t, c.want, out.Verdict, "%v", out.Err)
		})
	}
}

// resolveTo returns a resolver that queries a real DNS server, which returns one address for every
// name.
func resolveTo(t *testing.T, address func() netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { server.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, client, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if _, err := server.WriteTo(dnsAnswer(buf[:n], address()), client); err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// dnsAnswer returns the response to a query: one address for an A query, no records for any other
// query (RFC 1035).
func dnsAnswer(query []byte, address netip.Addr) []byte {
	const header, typeA = 12, 1
	end := header
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // skips the root label, type and class
	answer := append([]byte{}, query[:end]...)
	copy(answer[2:header], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if binary.BigEndian.Uint16(query[end-4:]) != typeA {
		return answer
	}
	answer[7] = 1
	answer = append(answer, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(answer, address.AsSlice()...)
}
