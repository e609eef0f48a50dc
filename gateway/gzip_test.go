package gateway_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func gzipped(t *testing.T, body string) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(body))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.String()
}

// gzipSource returns the source "orders" with the given Gzip setting.
func gzipSource(mode gateway.Gzip) gateway.Source {
	s := source("orders", signer())
	s.Gzip = mode
	return s
}

// sendPacked delivers packed with Content-Encoding: gzip, and with a signature that covers signed.
func (b *testBundle) sendPacked(t *testing.T, packed, signed string, change ...func(*http.Request)) answer {
	t.Helper()
	return b.post(t, "orders", packed, append([]func(*http.Request){func(r *http.Request) {
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("X-Signature", sign(testSecret, []byte(signed)))
	}}, change...)...)
}

// The source's Gzip setting determines whether the signature covers the packed or the unpacked
// body. The gateway stores the unpacked body, without the Content-Encoding header.
func TestGzipIsAPropertyOfTheSource(t *testing.T) {
	t.Parallel()
	body := `{"id":"a","type":"x","text":"Grüße"}`
	for mode, signedOver := range map[gateway.Gzip]func(packed string) string{
		gateway.GzipUnpacked: func(string) string { return body },
		gateway.GzipSent:     func(packed string) string { return packed },
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{gzipSource(mode)} })
			packed := gzipped(t, body)
			require.Equal(t, "accepted", b.sendPacked(t, packed, signedOver(packed)).header.Get(gateway.StatusHeader))
			stored := b.accepter.all()[0]
			require.Equal(t, body, string(stored.Body))
			require.NotContains(t, stored.Headers, "Content-Encoding")

			again := gzipped(t, body[:10]) + gzipped(t, body[10:]) // RFC 1952: concatenated members form one file
			require.Equal(t, "duplicate", b.sendPacked(t, again, signedOver(again), withHeaders("Content-Encoding", " X-Gzip ")).header.Get(gateway.StatusHeader))
			require.Equal(t, "duplicate", b.post(t, "orders", body).header.Get(gateway.StatusHeader), "a body without gzip is still accepted")

			other := map[bool]string{true: packed, false: body}[mode == gateway.GzipUnpacked]
			require.Equal(t, http.StatusUnauthorized, b.sendPacked(t, packed, other).status, "the signature covers the other form")
			empty := gzipped(t, `{"events":[]}`)
			require.Equal(t, "empty", b.sendPacked(t, empty, map[bool]string{true: `{"events":[]}`, false: empty}[mode == gateway.GzipUnpacked]).header.Get(gateway.StatusHeader))
		})
	}
}

// A refusal lists the accepted encodings, and the log names the setting that helps.
func TestAnEncodingThatIsNotAcceptedIsRefusedWithTheOnesThatAre(t *testing.T) {
	t.Parallel()
	for mode, accepted := range map[gateway.Gzip]string{"": "identity", gateway.GzipUnpacked: "gzip, identity", gateway.GzipSent: "gzip, identity"} {
		t.Run("gzip "+string(mode), func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{gzipSource(mode)} })
			encodings := []string{"br", "deflate", "gzip, gzip", "zstd"}
			if mode == "" {
				encodings = append(encodings, "gzip", "X-GZIP")
			}
			for _, encoding := range encodings {
				got := b.post(t, "orders", `{"id":"a"}`, withHeaders("Content-Encoding", encoding))
				require.Equal(t, http.StatusUnsupportedMediaType, got.status, encoding)
				require.Equal(t, accepted, got.header.Get("Accept-Encoding"), encoding)
			}
			require.Empty(t, b.accepter.all())
			lines := b.logs.lines(t, "delivery refused")
			require.Len(t, lines, len(encodings))
			require.Equal(t, "content_encoding", lines[0]["reason"])
			require.Contains(t, lines[0]["err"], "set gzip of the source to unpacked or sent")
			require.Equal(t, map[string]int64{"reason=content_encoding,source=orders": int64(len(encodings))}, b.counts(t, "hooklatch.rejected"))
		})
	}
}

// Unpacking stops if a body exceeds max_body or no memory is available for it.
func TestGzipIsBounded(t *testing.T) {
	t.Parallel()
	bomb := gzipped(t, `{"id":"a","pad":"`+strings.Repeat("x", 32<<20)+`"}`)
	for _, mode := range []gateway.Gzip{gateway.GzipUnpacked, gateway.GzipSent} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			large := 0
			b := setup(t, func(o *gateway.Options) {
				o.Sources, o.MaxBody, o.MaxBuffered = []gateway.Source{gzipSource(mode)}, 200<<10, 400<<10
				o.LargeBody = func() { large++ }
			})
			send := func(body string) answer {
				packed := gzipped(t, body)
				return b.sendPacked(t, packed, map[bool]string{true: body, false: packed}[mode == gateway.GzipUnpacked])
			}
			require.Equal(t, http.StatusRequestEntityTooLarge, b.sendPacked(t, bomb, bomb).status)
			require.Zero(t, large, "nothing above max_body is allocated")

			fits := `{"id":"a","pad":"` + strings.Repeat("x", 200<<10-19) + `"}`
			require.Len(t, fits, 200<<10)
			require.Equal(t, http.StatusOK, send(fits).status)
			require.Equal(t, http.StatusRequestEntityTooLarge, send(fits+" ").status)

			cut := gzipped(t, fits)
			for name, broken := range map[string]string{
				"cut short": cut[:len(cut)-9], "no gzip": fits, "empty": "", "garbage behind it": cut + "x", "wrong checksum": cut[:len(cut)-8] + "00000000",
			} {
				got := b.sendPacked(t, broken, broken)
				if mode == gateway.GzipUnpacked || got.status != http.StatusUnauthorized {
					require.Equal(t, http.StatusBadRequest, got.status, name)
				}
			}
			require.Equal(t, http.StatusOK, send(fits).status, "the refused body's memory is free again")
			b.requireBuffered(t, 0)
			require.Len(t, b.accepter.all(), 2)
		})
	}
	_, err := gateway.New(gateway.Options{Accepter: &memory{}, Sources: []gateway.Source{gzipSource(gateway.GzipSent)}, MaxBody: 1 << 20, MaxBuffered: 2<<20 - 1})
	require.ErrorContains(t, err, "which do not fit into MaxBuffered (2097151)")
	_, err = gateway.New(gateway.Options{Accepter: &memory{}, Sources: []gateway.Source{gzipSource("inside")}})
	require.ErrorContains(t, err, `gzip is "inside"; allowed: unpacked, sent`)
}

// The quarantine stores the bytes that the signature of a packed delivery covers. AcceptAgain
// unpacks them if the signature covers the packed body.
func TestAPackedDeliveryIsAcceptedFromTheQuarantine(t *testing.T) {
	t.Parallel()
	body := `{"id":"a","type":"x"}`
	for mode, signedOver := range map[gateway.Gzip]func(packed string) string{
		gateway.GzipUnpacked: func(string) string { return body },
		gateway.GzipSent:     func(packed string) string { return packed },
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			wrong := gzipSource(mode)
			wrong.Secrets = []gateway.Secret{{Value: secret.New("wrong")}}
			q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = []gateway.Source{wrong} })
			packed := gzipped(t, body)
			require.Equal(t, http.StatusUnauthorized, q.post(t, "orders", packed, func(r *http.Request) {
				r.Header.Set("Content-Encoding", "gzip")
				r.Header.Set("X-Signature", sign(testSecret, []byte(signedOver(packed))))
			}).status)
			kept := q.kept(t)
			require.Len(t, kept, 1)
			require.Equal(t, signedOver(packed), string(kept[0].Body))

			if mode == gateway.GzipSent {
				var refused *gateway.RefusedError
				require.NoError(t, q.gateway.SetSources([]gateway.Source{gzipSource("")}))
				_, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
				require.ErrorAs(t, err, &refused)
				require.Equal(t, "content_encoding", refused.Reason)
			}

			require.NoError(t, q.gateway.SetSources([]gateway.Source{gzipSource(mode)}))
			require.NoError(t, q.gateway.WouldAccept(t.Context(), &kept[0]))
			a, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
			require.NoError(t, err)
			require.Equal(t, 1, a.New())
			require.Equal(t, 1, q.count(t, "SELECT count(*) FROM hooklatch.deliveries WHERE body = $1", []byte(body)))
		})
	}
}

// Some senders put the charset into the Content-Encoding of a body that is not encoded.
func TestACharsetIsNotAContentEncoding(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{source("orders", signer()), gzipSource(gateway.GzipSent)}
		o.Sources[1].Name = "packed"
	})
	body := `{"id":"a","type":"x"}`
	for i, encoding := range []string{"utf-8", "UTF-8", "utf8", " UTF-8 ", "identity, utf-8", "ISO-8859-1", "us-ascii"} {
		for _, name := range []string{"orders", "packed"} {
			got := b.post(t, name, body, withHeaders("Content-Encoding", encoding))
			require.Equal(t, http.StatusOK, got.status, encoding)
			require.Equal(t, map[bool]string{true: "accepted", false: "duplicate"}[i == 0], got.header.Get(gateway.StatusHeader), encoding)
		}
	}
	packed := gzipped(t, body)
	got := b.post(t, "packed", packed, withHeaders("Content-Encoding", "gzip, utf-8"))
	require.Equal(t, "duplicate", got.header.Get(gateway.StatusHeader))
	require.Equal(t, body, string(b.accepter.all()[0].Body))
}

// An event in a compressed body makes a request a delivery, even if the request carries a value
// that a probe would echo.
func TestAPackedEventIsNoProbe(t *testing.T) {
	t.Parallel()
	for name, echo := range map[string]provider.EchoOptions{"header": {Header: "X-Hook-Secret"}, "query": {Query: "challenge"}} {
		for _, mode := range []gateway.Gzip{gateway.GzipUnpacked, gateway.GzipSent} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				opts := genericOptions()["hmac"]
				opts.Probe = &provider.ProbeOptions{Echo: echo, Methods: []string{http.MethodGet}}
				p, err := catalog.New("hmac", opts)
				require.NoError(t, err)
				key, ok := testKey(p, "k")
				require.True(t, ok)
				b := setup(t, func(o *gateway.Options) {
					o.Sources = []gateway.Source{gzipSource(mode)}
					o.Sources[0].Provider, o.Sources[0].Secrets = p, []gateway.Secret{{Value: key}}
				})
				body := `{"id":"a","type":"x"}`
				packed := gzipped(t, body)
				signed := &provider.Request{Method: http.MethodPost, URL: mustURL(b.url + "/webhooks/orders"), Header: http.Header{}, Body: []byte(packed)}
				if mode == gateway.GzipUnpacked {
					signed.Body = []byte(body)
				}
				require.NoError(t, p.Sign(signed, key, testNow))
				got := b.sendPacked(t, packed, "", func(r *http.Request) {
					r.URL.RawQuery = "challenge=c1"
					r.Header.Set("X-Hook-Secret", "s1")
					r.Header.Set("X-Signature", signed.Header.Get("X-Signature"))
				})
				require.Equal(t, "accepted", got.header.Get(gateway.StatusHeader))
				require.Len(t, b.accepter.all(), 1)
			})
		}
	}
}
