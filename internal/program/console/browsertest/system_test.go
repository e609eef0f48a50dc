package browsertest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const stripeSecret = "whsec_the_tests_in_a_browser_know_it"

// configuration has a destination that accepts everything, a mail server that refuses emails, and a
// receiver that closes each connection without a response.
const configuration = `
database: {url: %q, allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0", accept_timeout: 60s, read_header_timeout: 60s}
admin: {%s}
sources:
  stripe: {provider: stripe, secrets: [%q]}
destinations:
  app: {http: {url: %q}}
  mail: {smtp: {host: 127.0.0.1, port: %d, from: Hooklatch <hooklatch@example.com>, tls: none}}
  once: {http: {url: %q}, policy: at_most_once}
routes:
  - {name: everything, from: stripe, to: app}
  - name: receipts
    from: stripe
    types: [invoice.paid]
    to: mail
    key: body.data.object.id
    email: {recipient: body.data.object.email, subject: "Receipt {{ .body.data.object.id }}", text: "Thank you."}
  - {name: refunds, from: stripe, types: [charge.refunded], to: once}
`

// system is the program on a test database, with its receivers.
type system struct {
	pool    *pgxpool.Pool
	ledger  *ledger.Ledger
	mail    *mailServer
	site    string // URL of the console
	gateway string
}

func startSystem(t *testing.T) *system {
	t.Helper()
	return startSystemWith(t, anyPort)
}

// anyPort is the setting for an admin listener on a free port of this machine.
const anyPort = `listen: "127.0.0.1:0"`

// startSystemWith starts a system with the given settings of the admin listener.
func startSystemWith(t *testing.T, settings string) *system {
	t.Helper()
	s := &system{pool: pgtest.New(t), mail: startMail(t)}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(receiver.Close)
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(silent.Close)

	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	text := fmt.Sprintf(configuration, pgtest.URL(t, s.pool), settings, stripeSecret, receiver.URL, s.mail.addr.Port, silent.URL)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, err := config.Load(path, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	require.NoError(t, app.CheckConfig(cfg))
	program, err := app.New(t.Context(), app.Options{Config: cfg, Gateway: true, Worker: true, Version: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, program.Stop(context.Background())) })
	require.NoError(t, program.Start(t.Context()))
	select {
	case <-program.Prepared():
	case err := <-program.Failed():
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "not prepared")
	}
	s.site, s.gateway = "http://"+program.AdminAddr().String(), "http://"+program.GatewayAddr().String()

	box, err := outbox.New(outbox.Options{Pool: s.pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	s.ledger = box.Ledger()
	return s
}

// deliver sends a signed event over HTTP, like the provider.
func (s *system) deliver(t *testing.T, id, kind, object string) {
	t.Helper()
	now := time.Now().Unix()
	body := fmt.Sprintf(`{"id": %q, "object": "event", "type": %q, "created": %d, "livemode": false, "data": {"object": %s}}`, id, kind, now, object)
	mac := hmac.New(sha256.New, []byte(stripeSecret))
	fmt.Fprintf(mac, "%d.%s", now, body)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.gateway+"/webhooks/stripe", bytes.NewBufferString(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Stripe-Signature", "t="+strconv.FormatInt(now, 10)+",v1="+hex.EncodeToString(mac.Sum(nil)))
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

// forge sends a delivery that the provider did not sign, and waits until it is in quarantine.
func (s *system) forge(t *testing.T) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.gateway+"/webhooks/stripe", bytes.NewBufferString(`{"id": "evt_forged"}`))
	require.NoError(t, err)
	request.Header.Set("Stripe-Signature", "t="+strconv.FormatInt(time.Now().Unix(), 10)+",v1="+hex.EncodeToString(make([]byte, sha256.Size)))
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	require.Eventually(t, func() bool {
		var kept int
		err := s.pool.QueryRow(context.Background(), `SELECT count(*) FROM hooklatch.rejected_deliveries`).Scan(&kept)
		return err == nil && kept == 1
	}, patience, tick, "it is not in quarantine")
}

// order requests an operator action through the API, with the console's own origin.
func (s *system) order(t *testing.T, path string) {
	t.Helper()
	s.orderWith(t, path, `{"reason": "they move to another house"}`)
}

// orderWith requests an action like order, but with another JSON body.
func (s *system) orderWith(t *testing.T, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.site+"/api"+path, bytes.NewBufferString(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", s.site)
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

// invoice delivers a paid invoice, for which the customer gets an email.
func (s *system) invoice(t *testing.T, id, customer string) {
	t.Helper()
	s.deliver(t, "evt_"+id, "invoice.paid", fmt.Sprintf(
		`{"id": "in_%s", "customer": %q, "email": %q, "amount_paid": 4200, "currency": "eur", "lines": [{"text": "Übersicht", "amount": 4200}], "discount": null, "paid": true}`,
		id, customer, customer+"@example.com"))
}

// effect waits until an event's effect at a destination is in a state, and returns the effect's
// key.
func (s *system) effect(t *testing.T, eventID, destination string, state ledger.EffectState) string {
	t.Helper()
	var key string
	var now ledger.EffectState
	require.Eventually(t, func() bool {
		err := s.pool.QueryRow(context.Background(),
			"SELECT idempotency_key, state FROM hooklatch.effects WHERE event_id = $1 AND destination = $2", eventID, destination).Scan(&key, &now)
		return err == nil && now == state
	}, patience, tick, "the effect of %s at %s is not %s", eventID, destination, state)
	return key
}

// settled waits until this many events are dispatched, and each effect is finished or parked.
func (s *system) settled(t *testing.T, events int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var dispatched, waiting int
		err := s.pool.QueryRow(context.Background(), `SELECT
			(SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'dispatched'),
			(SELECT count(*) FROM hooklatch.effects WHERE finished_at IS NULL AND state <> 'parked')`).Scan(&dispatched, &waiting)
		return err == nil && dispatched == events && waiting == 0
	}, patience, tick, "not all is settled")
}

// loopbackListener listens on a free port.
func loopbackListener(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}
