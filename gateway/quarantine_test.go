package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// quarantined is a gateway with a database, in which it keeps refused deliveries.
type quarantined struct {
	*stored

	keeper     *quarantine.Keeper
	quarantine *quarantine.Quarantine
}

// setupQuarantined starts a gateway with the real clock, because the database records when a
// refused delivery arrived.
func setupQuarantined(t *testing.T, pool *pgxpool.Pool, change func(*gateway.Options)) *quarantined {
	t.Helper()
	keeper, err := quarantine.NewKeeper(quarantine.KeeperOptions{Pool: pool, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, keeper.Stop(context.Background())) })
	q := &quarantined{keeper: keeper, stored: setupOnPool(t, pool, func(o *gateway.Options) {
		o.Now, o.Quarantine = time.Now, keeper
		change(o)
	})}
	q.quarantine, err = quarantine.New(quarantine.Options{Pool: pool, Ledger: q.outbox.Ledger()})
	require.NoError(t, err)
	return q
}

// kept stops the keeper, so that all refused deliveries are written, and returns them.
func (q *quarantined) kept(t *testing.T) []quarantine.Delivery {
	t.Helper()
	require.NoError(t, q.keeper.Stop(t.Context()))
	found, err := q.quarantine.Next(t.Context(), quarantine.Filter{}, quarantine.Mark{}, 1000)
	require.NoError(t, err)
	return found
}

// sendAs sends a request with its own method, path and query.
func (q *quarantined) sendAs(t *testing.T, sent *provider.Request) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), sent.Method, q.url+sent.URL.RequestURI(), bytes.NewReader(sent.Body))
	require.NoError(t, err)
	r.Header = sent.Header.Clone()
	return q.do(t, r)
}

// notKept lists the providers whose proof cannot be rebuilt from the secret: their requests
// carry a token that is always different and is itself a secret.
var notKept = []string{"google-pubsub", "jwt"}

// retried returns every provider, and variants of providers whose options move the proof to another
// place.
func retried(t *testing.T) map[string]*provider.Provider {
	t.Helper()
	all := map[string]*provider.Provider{}
	for _, name := range catalog.Names() {
		described, err := catalog.Describe(name)
		require.NoError(t, err)
		all[name] = described.Provider
	}
	id := provider.EventID{Pointer: "/id"}
	for _, c := range []struct {
		name, why string
		options   provider.Options
	}{
		{"token", "in a query", provider.Options{Query: "token", EventID: id}},
		{"token", "with another scheme", provider.Options{Header: "X-Api-Key", Prefix: "Token ", EventID: id}},
		{"okta", "in another header", provider.Options{Header: "X-Api-Key"}},
		{"auth0", "in another header", provider.Options{Header: "X-Api-Key"}},
		{"hmac", "in Authorization", provider.Options{Header: "Authorization", Prefix: "HMAC ", Encoding: "base64", EventID: id}},
	} {
		p, err := catalog.New(c.name, c.options)
		require.NoError(t, err)
		all[c.name+" "+c.why] = p
	}
	return all
}

// Each provider's delivery is refused while the configured secret is wrong, and accepted once after
// the secret is corrected, unless notKept lists the provider. The quarantine does not contain a
// secret that the delivery carried.
func TestEveryProviderIsAcceptedFromTheQuarantine(t *testing.T) {
	t.Parallel()
	for name, p := range retried(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, ok := testKey(p, "k")
			right, _ := testKey(p, "x")
			if !ok {
				t.Skip("verifies with a key pair or a certificate")
			}
			sourceWith := func(key secret.Value) []gateway.Source {
				return []gateway.Source{{Name: "real", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
			}
			q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
				o.PublicURL = mustURL("https://hooks.example.com")
				o.Sources = sourceWith(wrong)
			})
			signed := p.Sample("", "", time.Now())
			signed.URL = mustURL("https://hooks.example.com/webhooks/real?a=b")
			signed.Method = cmp.Or(signed.Method, http.MethodPost)
			require.NoError(t, p.Sign(signed, right, time.Now()))
			signed.Header.Set("X-Forwarded-Uri", signed.URL.RequestURI()) // a proxy repeats the URL, token included
			signed.Header.Set("Cookie", "session=1")
			require.Equal(t, http.StatusUnauthorized, q.sendAs(t, signed).status)

			kept := q.kept(t)
			require.Len(t, kept, 1)
			if len(p.SecretHeaders)+len(p.SecretQuery) > 0 {
				q.requireNowhere(t, right)
			}
			require.NotContains(t, kept[0].Headers, "Cookie")
			_, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
			require.Error(t, err, "the secret is still wrong")
			require.Zero(t, q.count(t, "SELECT count(*) FROM hooklatch.processed_events"))

			require.Error(t, q.gateway.WouldAccept(t.Context(), &kept[0]))
			require.NoError(t, q.gateway.SetSources(sourceWith(right)))
			if !slices.Contains(notKept, name) {
				require.NoError(t, q.gateway.WouldAccept(t.Context(), &kept[0]))
			}
			require.Zero(t, q.count(t, "SELECT count(*) FROM hooklatch.processed_events"), "WouldAccept accepts nothing")
			for _, want := range []int{1, 0} {
				a, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
				if slices.Contains(notKept, name) {
					var refused *gateway.RefusedError
					require.ErrorAs(t, err, &refused)
					require.Equal(t, "proof_not_kept", refused.Reason)
					return
				}
				require.NoError(t, err)
				if name != "dropbox" { // each of its deliveries is a separate event
					require.Equal(t, want > 0, a.New() > 0)
				}
			}
		})
	}
}

// requireNowhere checks that the quarantine does not contain a secret in any form in which a
// sender may send it.
func (q *quarantined) requireNowhere(t *testing.T, key secret.Value) {
	t.Helper()
	text := key.Reveal()
	_, password, _ := strings.Cut(text, ":")
	for _, spelled := range []string{text, password, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "=")} {
		if spelled == "" {
			continue
		}
		require.Zero(t, q.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries AS r
			WHERE position($1 IN r::text) > 0 OR position(convert_to($1, 'UTF8') IN r.body) > 0`, spelled), spelled)
	}
}

// A quarantined delivery's signed time is compared with its arrival time, not with the current
// time.
func TestQuarantineComparesSignedTimesWithTheArrival(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("stripe", provider.Options{})
	require.NoError(t, err)
	right := secret.New("whsec_0123456789abcdef")
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "shop", Provider: p, Secrets: []gateway.Secret{{Value: secret.New("whsec_another_one_0123")}}}}
	})
	post := func(id string, signedAt time.Time) {
		r := p.Sample("", id, time.Now())
		require.NoError(t, p.Sign(r, right, signedAt))
		require.Equal(t, http.StatusUnauthorized, q.deliver(t, "shop", r).status)
	}
	post("evt_fresh", time.Now())
	post("evt_stale", time.Now().Add(-time.Hour))
	kept := q.kept(t)
	require.Len(t, kept, 2)
	_, err = q.pool.Exec(t.Context(), "UPDATE hooklatch.rejected_deliveries SET rejected_at = rejected_at - interval '3 days'")
	require.NoError(t, err)
	require.NoError(t, q.gateway.SetSources([]gateway.Source{{Name: "shop", Provider: p, Secrets: []gateway.Secret{{Value: right}}}}))
	_, err = q.gateway.AcceptAgain(t.Context(), &kept[0])
	require.NoError(t, err)
	var refused *gateway.RefusedError
	_, err = q.gateway.AcceptAgain(t.Context(), &kept[1])
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "old_timestamp", refused.Reason, "the signed time was too old at arrival")
}

func TestWhatIsKeptInQuarantine(t *testing.T) {
	t.Parallel()
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
		off := source("off", signer())
		off.QuarantineOff = true
		o.Sources = []gateway.Source{source("orders", signer()), off}
	})
	forged := withHeaders("X-Signature", "00", "X-Api-Token", "a-token-of-theirs", "X-Original-Url", "/?token=a-token-of-theirs", "X-Other", "kept")
	for _, c := range []struct {
		name, source, body string
		status             int
	}{
		{"a wrong signature", "orders", `{"id":"a","type":"x"}`, 401},
		{"a source without quarantine", "off", `{"id":"b","type":"x"}`, 401},
		{"no source", "nowhere", `{"id":"c","type":"x"}`, 404},
		{"no body", "orders", ``, 401},
		{"a body that is too large", "orders", `{"id":"d","pad":"` + strings.Repeat("x", 256<<10) + `"}`, 401},
	} {
		require.Equal(t, c.status, q.post(t, c.source, c.body, forged).status, c.name)
	}
	require.Equal(t, http.StatusUnprocessableEntity, q.post(t, "orders", `{"type":"x"}`).status, "verified, but without an id")
	require.Equal(t, http.StatusOK, q.post(t, "orders", `{"id":"e","type":"x"}`).status)

	kept := q.kept(t)
	require.Len(t, kept, 2)
	first := kept[0]
	require.Equal(t, `{"id":"a","type":"x"}`, string(first.Body))
	require.Equal(t, "wrong_signature", first.Reason)
	require.Equal(t, "127.0.0.1/32", first.From)
	require.Equal(t, "/webhooks/orders", first.Target)
	require.Equal(t, []string{"kept"}, first.Headers["X-Other"])
	require.NotContains(t, first.Headers, "X-Api-Token")
	require.NotContains(t, first.Headers, "X-Original-Url")
	require.Equal(t, []string{"header X-Api-Token"}, first.Carried())
	require.Equal(t, "no_usable_event", kept[1].Reason)
	require.Zero(t, q.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries AS r WHERE r::text LIKE '%a-token-of-theirs%'`))
	require.Equal(t, 1, q.count(t, `SELECT count(*) FROM hooklatch.known_addresses WHERE source = 'orders'`))
}

// The quarantine keeps a signature in the header Authorization, even in a form that the source does
// not expect. It keeps no credential in the same header, and an accepted delivery is stored without
// the header.
func TestOnlyASignatureIsKeptFromAuthorization(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("hmac", provider.Options{Header: "Authorization", Prefix: "HMAC ", Encoding: "base64", EventID: provider.EventID{Pointer: "/id"}})
	require.NoError(t, err)
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "orders", Provider: p, Secrets: []gateway.Secret{{Value: secret.New(testSecret)}}}}
	})
	signed := &provider.Request{Header: http.Header{}, Body: []byte(`{"id":"a"}`)}
	require.NoError(t, p.Sign(signed, secret.New(testSecret), time.Now()))
	require.Equal(t, http.StatusOK, q.deliver(t, "orders", signed).status)
	require.Zero(t, q.count(t, "SELECT count(*) FROM hooklatch.deliveries WHERE headers ? 'Authorization'"))
	for _, value := range []string{"HMAC AAAA", "hmac-sha256 00", "Bearer their-token", "basic dGhlaXI6cHc="} {
		require.Equal(t, http.StatusUnauthorized, q.post(t, "orders", `{"id":"b"}`, withHeaders("Authorization", value)).status)
	}
	var found []string
	for _, d := range q.kept(t) {
		found = append(found, d.Headers["Authorization"]...)
	}
	require.Equal(t, []string{"HMAC AAAA", "hmac-sha256 00"}, found)
}

// The query of a request with a body is not its event, and may contain anything.
func TestTheQueryOfARequestWithABodyIsNotKept(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("zendesk", provider.Options{})
	require.NoError(t, err)
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "desk", Provider: p, Secrets: []gateway.Secret{{Value: secret.New("correct horse battery staple")}}}}
	})
	for _, body := range []string{"", `{"ticket":1}`} {
		refused := &provider.Request{Method: http.MethodPost, URL: mustURL("https://hooks.example.com/webhooks/desk?key=canary"), Header: http.Header{}, Body: []byte(body)}
		refused.Header.Set("X-Zendesk-Webhook-Invocation-Id", "i1")
		require.Equal(t, http.StatusUnauthorized, q.sendAs(t, refused).status)
	}
	var targets []string
	for _, kept := range q.kept(t) {
		targets = append(targets, kept.Target)
	}
	require.ElementsMatch(t, []string{"/webhooks/desk?key=canary", "/webhooks/desk"}, targets)
}

// A delivery without a body is kept if its event is in its URL or in its headers.
func TestADeliveryWithoutABodyIsKeptInQuarantine(t *testing.T) {
	t.Parallel()
	twilio, err := catalog.New("twilio", provider.Options{})
	require.NoError(t, err)
	byHeaders, err := catalog.New("token", provider.Options{
		Header: "X-Goog-Channel-Token", Type: provider.Field{Header: "X-Goog-Resource-State"},
		EventID: provider.EventID{Join: []string{"header:X-Goog-Channel-ID", "header:X-Goog-Message-Number"}},
	})
	require.NoError(t, err)
	calendar := &provider.Request{Method: http.MethodPost, URL: mustURL("https://hooks.example.com/webhooks/real"), Header: http.Header{}}
	calendar.Header.Set("X-Goog-Channel-Id", "c1")
	calendar.Header.Set("X-Goog-Message-Number", "7")
	calendar.Header.Set("X-Goog-Resource-State", "exists")
	status := &provider.Request{Method: http.MethodGet, URL: mustURL("https://hooks.example.com/webhooks/real?MessageSid=SM1&MessageStatus=delivered"), Header: http.Header{}}
	zendesk, err := catalog.New("zendesk", provider.Options{})
	require.NoError(t, err)
	trigger := &provider.Request{Method: http.MethodDelete, URL: mustURL("https://hooks.example.com/webhooks/real?ticket=5158"), Header: http.Header{}}
	trigger.Header.Set("X-Zendesk-Webhook-Invocation-Id", "i1")
	for _, c := range []struct {
		name    string
		p       *provider.Provider
		r       *provider.Request
		id      string
		without string // a header; without it the request has no event
	}{
		{"its URL", twilio, status, "SM1:delivered", ""},
		{"its headers", byHeaders, calendar, "c1:7", "X-Goog-Channel-Id"},
		{"its URL and its headers", zendesk, trigger, "i1", "X-Zendesk-Webhook-Invocation-Id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			right, wrong := secret.New("a long secret that is right"), secret.New("a long secret that is wrong")
			sourceWith := func(key secret.Value) []gateway.Source {
				return []gateway.Source{{Name: "real", Provider: c.p, Secrets: []gateway.Secret{{Value: key}}}}
			}
			q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
				o.PublicURL, o.Sources = mustURL("https://hooks.example.com"), sourceWith(wrong)
			})
			require.NoError(t, c.p.Sign(c.r, right, time.Now()))
			send := func(header http.Header) int {
				r, err := http.NewRequestWithContext(t.Context(), c.r.Method, q.url+c.r.URL.RequestURI(), http.NoBody)
				require.NoError(t, err)
				r.Header = header
				return q.do(t, r).status
			}
			require.Equal(t, http.StatusUnauthorized, send(c.r.Header.Clone()))
			if c.without != "" {
				header := c.r.Header.Clone()
				header.Del(c.without)
				require.Equal(t, http.StatusUnauthorized, send(header))
			}
			kept := q.kept(t)
			require.Len(t, kept, 1)
			require.NoError(t, q.gateway.SetSources(sourceWith(right)))
			a, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
			require.NoError(t, err)
			require.Equal(t, 1, a.New())
			require.Equal(t, c.id, string(a.Events[0].EventID))
			require.Equal(t, 1, q.count(t, "SELECT count(*) FROM hooklatch.deliveries WHERE body = convert_to($1, 'UTF8')", c.r.URL.RawQuery))
		})
	}
}

// The quarantine delays no response, even if its statements wait for a table lock.
func TestQuarantineDelaysNoAnswer(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	q := setupQuarantined(t, pool, func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", signer())} })
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE hooklatch.rejected_deliveries, hooklatch.known_addresses")
	require.NoError(t, err)
	began := time.Now()
	for n := range 500 {
		require.Equal(t, http.StatusUnauthorized, q.post(t, "orders", fmt.Sprintf(`{"id":"%d","type":"x"}`, n), withHeaders("X-Signature", "00")).status)
	}
	require.Equal(t, http.StatusOK, q.post(t, "orders", `{"id":"good","type":"x"}`).status)
	require.Less(t, time.Since(began), 2*time.Minute, "if responses waited for the quarantine, each would take its timeout")
	require.NoError(t, tx.Rollback(t.Context()))
}

// A delivery is refused because its source has the wrong Gzip. After the correction it is accepted
// only if its signature covers the unpacked body. If the signature covers the packed body, the
// wrong setting was GzipUnpacked, so the quarantine stored the body unpacked.
func TestTheWrongGzipInQuarantine(t *testing.T) {
	t.Parallel()
	const body = `{"id":"a","type":"x"}`
	for _, right := range []gateway.Gzip{gateway.GzipUnpacked, gateway.GzipSent} {
		t.Run(string(right), func(t *testing.T) {
			t.Parallel()
			signed, wrong := body, gateway.GzipSent
			if right == gateway.GzipSent {
				signed, wrong = gzipped(t, body), gateway.GzipUnpacked
			}
			q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = []gateway.Source{gzipSource(wrong)} })
			require.Equal(t, http.StatusUnauthorized, q.sendPacked(t, gzipped(t, body), signed).status)
			kept := q.kept(t)
			require.Len(t, kept, 1)
			require.NoError(t, q.gateway.SetSources([]gateway.Source{gzipSource(right)}))
			_, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
			if right == gateway.GzipUnpacked {
				require.NoError(t, err)
				return
			}
			var refused *gateway.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "wrong_signature", refused.Reason)
		})
	}
}

// An erasure finds a refused copy by its body, so the quarantine stores the body unpacked.
// AcceptAgain accepts the unpacked body.
func TestAPackedBodyIsKeptUnpacked(t *testing.T) {
	t.Parallel()
	const body = `{"id":"a","type":"x","email":"jane@example.com"}`
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = []gateway.Source{gzipSource(gateway.GzipUnpacked)} })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, q.url+"/webhooks/orders", strings.NewReader(gzipped(t, body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("X-Signature", sign("another secret 0123456789", []byte(body)))
	require.Equal(t, http.StatusUnauthorized, q.do(t, r).status)
	kept := q.kept(t)
	require.Len(t, kept, 1)
	require.Equal(t, body, string(kept[0].Body))
	require.NotContains(t, kept[0].Headers, "Content-Encoding")

	source := gzipSource(gateway.GzipUnpacked)
	source.Secrets = []gateway.Secret{{Value: secret.New("another secret 0123456789")}}
	require.NoError(t, q.gateway.SetSources([]gateway.Source{source}))
	_, err = q.gateway.AcceptAgain(t.Context(), &kept[0])
	require.NoError(t, err)
	require.Equal(t, 1, q.count(t, "SELECT count(*) FROM hooklatch.processed_events AS p JOIN hooklatch.rejected_deliveries AS r ON r.body_hash = p.payload_hash"))
}
