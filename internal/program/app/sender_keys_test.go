package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// bank simulates Plaid: it has one key, and an API that returns the key.
type bank struct {
	key     *ecdsa.PrivateKey
	asked   atomic.Int64
	away    atomic.Bool
	expired atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (b *bank) RoundTrip(r *http.Request) (*http.Response, error) {
	b.asked.Add(1)
	if b.away.Load() {
		return nil, errors.New("connection refused")
	}
	var question struct {
		KeyID string `json:"key_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
		return nil, err
	}
	say := func(status int, body map[string]any) (*http.Response, error) {
		text, err := json.Marshal(body)
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(text)))}, err
	}
	if strings.HasPrefix(question.KeyID, "forged") {
		return say(http.StatusBadRequest, map[string]any{"error_code": "INVALID_WEBHOOK_VERIFICATION_KEY_ID"})
	}
	point, err := b.key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	key := map[string]any{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": question.KeyID, "expired_at": nil,
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
	if b.expired.Load() {
		key["expired_at"] = 1
	}
	return say(http.StatusOK, map[string]any{"key": key})
}

// process verifies deliveries of the bank as a gateway process does.
type process struct {
	*bank

	outbox   *outbox.Outbox
	source   config.Source
	provider *provider.Provider
	secrets  []secret.Value
}

func (b *bank) process(t *testing.T, pool *pgxpool.Pool) *process {
	t.Helper()
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	cfg, err := config.Parse("bank.yaml", []byte(`sources: {bank: {provider: plaid, secrets: ["client1:s3cr3t"]}}`), nil)
	require.NoError(t, err)
	s := cfg.Sources["bank"]
	s.Options.Fetch = b
	cfg.Sources["bank"] = s
	sources, err := sourcesOf(cfg, o)
	require.NoError(t, err)
	p := &process{bank: b, outbox: o, source: s, provider: sources[0].Provider, secrets: []secret.Value{sources[0].Secrets[0].Value}}
	t.Cleanup(func() { p.stop(t) })
	return p
}

// restarted returns a process that has already read the stored keys. Otherwise, a delivery would
// wait only a moment for the keys, and on a busy machine the process would query the bank.
func (b *bank) restarted(t *testing.T, pool *pgxpool.Pool) *process {
	t.Helper()
	p := b.process(t, pool)
	read := readKeys{senderKeys: senderKeys{outbox: p.outbox, source: "bank"}}
	var err error
	read.keys, err = read.senderKeys.Kept(t.Context())
	require.NoError(t, err)
	opts := p.source.ProviderOptions()
	opts.Keys = read
	p.provider, err = catalog.New(p.source.Provider, opts)
	require.NoError(t, err)
	return p
}

// readKeys stores keys like senderKeys, and returns the keys that it has read.
type readKeys struct {
	senderKeys

	keys []provider.KeptKey
}

func (r readKeys) Kept(context.Context) ([]provider.KeptKey, error) { return r.keys, nil }

func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.outbox.Stop(context.WithoutCancel(t.Context())))
}

// delivery returns a delivery signed with the bank's key.
func (p *process) delivery(t *testing.T, now time.Time) *provider.Request {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	require.NoError(t, err)
	r := p.provider.Sample("", "", now)
	require.NoError(t, p.provider.Sign(r, secret.New(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))), now))
	r.Client = netip.MustParsePrefix("198.51.100.1/32")
	return r
}

// forged returns a delivery with a key id that the bank does not have.
func (p *process) forged(t *testing.T, i int, now time.Time) *provider.Request {
	t.Helper()
	r := p.delivery(t, now)
	token := strings.Split(r.Header.Get("Plaid-Verification"), ".")
	token[0] = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"ES256","kid":"forged%d"}`, i))
	r.Header.Set("Plaid-Verification", strings.Join(token, "."))
	r.Client = netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), 1}), 32)
	return r
}

func (p *process) verify(t *testing.T, r *provider.Request, now time.Time) error {
	t.Helper()
	_, err := p.provider.Verify(t.Context(), r, p.secrets, now)
	return err
}

func newBank(t *testing.T) *bank {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &bank{key: key}
}

// kept waits until the bank's key is in the table and matches the condition.
func kept(t *testing.T, pool *pgxpool.Pool, condition string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.sender_keys WHERE source = 'bank' AND `+condition).Scan(&n))
		return n == 1
	}, 3*time.Minute, 10*time.Millisecond)
}

// A restarted process uses the sender's key that its predecessor stored, even if forged deliveries
// arrive or the sender's API does not respond.
func TestProvenKeysOfASenderOutliveARestart(t *testing.T) {
	t.Parallel()
	pool, b, now := pgtest.New(t), newBank(t), time.Now()
	before := b.process(t, pool)
	require.Error(t, before.verify(t, before.forged(t, 1, now), now))
	require.NoError(t, before.verify(t, before.delivery(t, now), now))
	kept(t, pool, "document IS NOT NULL")
	before.stop(t)

	// Forged deliveries first use up all key requests that are allowed for forgeries.
	b.asked.Store(0)
	after := b.restarted(t, pool)
	minute := time.Now().Truncate(time.Minute)
	for i := range 100 {
		require.Error(t, after.verify(t, after.forged(t, i, now), now))
	}
	asked := b.asked.Load()
	if time.Now().Truncate(time.Minute).Equal(minute) { // in the next minute, 45 more requests are allowed
		require.EqualValues(t, 45, asked)
	}
	b.away.Store(true)
	require.NoError(t, after.verify(t, after.delivery(t, now), now))
	require.Equal(t, asked, b.asked.Load())

	// The stored key ages like any other key. After an hour the process requests it again. After a
	// day the process does not use it unless the sender responds.
	_, err := pool.Exec(t.Context(), `UPDATE hooklatch.sender_keys SET proven_at = now() - interval '2 hours'`)
	require.NoError(t, err)
	b.asked.Store(0)
	require.NoError(t, b.restarted(t, pool).verify(t, after.delivery(t, now), now))
	require.EqualValues(t, 1, b.asked.Load())
	_, err = pool.Exec(t.Context(), `UPDATE hooklatch.sender_keys SET proven_at = now() - interval '25 hours'`)
	require.NoError(t, err)
	late := b.restarted(t, pool)
	require.Error(t, late.verify(t, late.delivery(t, now), now))
	b.away.Store(false)
	for i := range 100 {
		require.Error(t, late.verify(t, late.forged(t, i, now), now))
	}
	// The bank is asked again a moment after the request that failed.
	require.Eventually(t, func() bool { return late.verify(t, late.delivery(t, now), now) == nil }, 3*time.Minute, 100*time.Millisecond)
	kept(t, pool, "proven_at > now() - interval '1 hour'")
}

// A key that the sender revoked stays revoked after a restart.
func TestKeysThatASenderTookBackAreNotKeptAsGood(t *testing.T) {
	t.Parallel()
	pool, b, now := pgtest.New(t), newBank(t), time.Now()
	before := b.process(t, pool)
	require.NoError(t, before.verify(t, before.delivery(t, now), now))
	kept(t, pool, `document NOT LIKE '%"expired_at":1%'`)
	before.stop(t)
	b.expired.Store(true)
	_, err := pool.Exec(t.Context(), `UPDATE hooklatch.sender_keys SET proven_at = now() - interval '2 hours'`)
	require.NoError(t, err)
	later := b.restarted(t, pool)
	require.ErrorContains(t, later.verify(t, later.delivery(t, now), now), string(provider.ReasonUnknownKey))
	kept(t, pool, `document LIKE '%"expired_at":1%'`)
	later.stop(t)

	b.away.Store(true)
	after := b.restarted(t, pool)
	require.ErrorContains(t, after.verify(t, after.delivery(t, now), now), string(provider.ReasonUnknownKey))
}

// While the database is unavailable, a process requests keys from the sender, and keeps using the
// keys that it knows.
func TestKeysOfASenderWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	pool, b, now := pgtest.New(t), newBank(t), time.Now()
	gone, err := pgxpool.NewWithConfig(t.Context(), pool.Config())
	require.NoError(t, err)
	gone.Close()
	p := b.process(t, gone)
	b.away.Store(true)
	require.Error(t, p.verify(t, p.delivery(t, now), now))
	b.away.Store(false)
	require.NoError(t, p.verify(t, p.delivery(t, now), now), "the process gets the key from the sender")
	b.away.Store(true)
	require.NoError(t, p.verify(t, p.delivery(t, now), now))
}
