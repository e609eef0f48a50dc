package catalog

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func signedSample(t testing.TB, p *provider.Provider, eventType, id string) *provider.Request {
	t.Helper()
	r := p.Sample(eventType, id, prooftest.Now())
	require.Equal(t, http.MethodPost, r.Method)
	require.Nil(t, r.URL)
	r.URL = prooftest.URL("")
	require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
	return r
}

func verifies(t testing.TB, p *provider.Provider, r *provider.Request) error {
	_, err := p.Verify(t.Context(), r, []secret.Value{keyOf(t, p)}, prooftest.Now())
	return err
}

func eventOf(t testing.TB, p *provider.Provider, r *provider.Request) provider.Event {
	t.Helper()
	require.NoError(t, verifies(t, p, r))
	events, err := p.Events(r)
	require.NoError(t, err)
	require.NotEmpty(t, events)
	require.Len(t, events, 1)
	event := events[0]
	event.Part = nil // a sample's part contains random values
	return event
}

func TestSampleIsOneSignedEvent(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *provider.Provider, r *provider.Request) {
		event := eventOf(t, p, r)
		require.NotEmpty(t, event.Type)
		if !deliveriesOf(t, p.Name).samples.Fresh {
			require.Equal(t, event, eventOf(t, p, signedSample(t, p, "", "evt_1")), "same id, same event")
		}
		require.NotEqual(t, event.ID, eventOf(t, p, signedSample(t, p, "", "evt_2")).ID, "another id makes another event")
		require.NotEqual(t, eventOf(t, p, signedSample(t, p, "", "")).ID, eventOf(t, p, signedSample(t, p, "", "")).ID, "without an id each sample is a new event")
		if !strings.Contains(event.ID, "evt_1") {
			require.True(t, strings.HasPrefix(event.ID, "sha256:"), event.ID)
		}
	})
}

// A replay is a signed request that arrives again under another id. Two samples are two
// events, so they must not look like a replay.
func TestSamplesUnderTwoIDsAreNoReplay(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *provider.Provider, _ *provider.Request) {
		if p.ReplayToken == nil {
			return
		}
		require.NotEqual(t, p.ReplayToken(signedSample(t, p, "", "evt_1")), p.ReplayToken(signedSample(t, p, "", "evt_2")))
	})
}

func TestSampleTypes(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for _, eventType := range deliveriesOf(t, name).samples.Types {
			p := provide(t, name, configured(t)[name])
			event := eventOf(t, p, signedSample(t, p, eventType, "evt_1"))
			require.Equal(t, eventType, event.Type)
			require.True(t, strings.Contains(event.ID, "evt_1") || strings.HasPrefix(event.ID, "sha256:"), event.ID)
		}
	}
}

// TestSignTakesAnyBody signs bodies unlike any sample and checks that they are unchanged.
func TestSignTakesAnyBody(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"empty":     "",
		"text":      "hello",
		"bytes":     "\x00\xff\xfe",
		"NUL":       `{"id":"x","a":"\u0000"}`,
		"surrogate": `{"id":"x","a":"\ud800","b":"\udc00\ud83d\ude00"}`,
		"number":    `{"id":"x","a":1` + strings.Repeat("0", 400) + `}`,
		"nested":    `{"id":"x","type":"t","data":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"large":     `{"id":"x","type":"t","data":"` + strings.Repeat("é", 450_000) + `"}`,
	}
	everyProvider(t, func(t *testing.T, p *provider.Provider, _ *provider.Request) {
		if deliveriesOf(t, p.Name).samples.InBody {
			return
		}
		for name, body := range bodies {
			r := p.Sample("", "evt_1", prooftest.Now())
			r.URL = prooftest.URL("https://hooks.example.com/x?a=1")
			r.Body = []byte(body)
			require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()), name)
			require.NoError(t, verifies(t, p, r), name)
			if _, err := p.Events(r); err != nil {
				require.IsType(t, &provider.EventError{}, err, name)
			}
			require.Equal(t, body, string(r.Body), name)
		}
	})
}

// TestAnyBitCounts flips one bit in each header that Sign sets, and in a body that the signature
// covers. Each changed request must be refused. The test samples the bits of the body and of long
// headers.
func TestAnyBitCounts(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *provider.Provider, r *provider.Request) {
		require.NoError(t, verifies(t, p, r))
		for _, name := range signing(t, p, r, keyOf(t, p)) {
			value := r.Header.Get(name)
			step := 1 + 2*(len(value)/300) // long tokens are sampled: each try verifies an RSA signature
			for bit := 0; bit < len(value)*8; bit += step {
				r.Header[name] = []string{prooftest.Flip(value, bit)}
				if scheme, _, ok := strings.Cut(value, " "); ok && bit < len(scheme)*8 && strings.EqualFold(r.Header[name][0], value) {
					continue // the case of an authentication scheme is not significant
				}
				require.Error(t, verifies(t, p, r), "%s: %q", name, r.Header[name])
			}
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if deliveriesOf(t, p.Name).samples.Unsigned {
			return
		}
		body := string(r.Body)
		for bit := 0; bit < len(body)*8; bit += 7 {
			r.Body = []byte(prooftest.Flip(body, bit))
			if p.Name == "twilio" && sameForm(t, p, body, string(r.Body)) {
				continue // Twilio signs the fields, not their spelling
			}
			require.Error(t, verifies(t, p, r), "%q", r.Body)
		}
	})
}

// sameForm reports whether two forms have the same signed text, or neither can be signed.
func sameForm(t *testing.T, p *provider.Provider, a, b string) bool {
	t.Helper()
	signature := func(body string) string {
		r := form(body)
		if err := p.Sign(r, keyOf(t, p), prooftest.Now()); err != nil {
			return err.Error()
		}
		return r.Header.Get("X-Twilio-Signature")
	}
	return signature(a) == signature(b)
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *provider.Provider, r *provider.Request) {
		require.NoError(t, p.CheckSecret(keyOf(t, p)))
		require.Error(t, p.CheckSecret(secret.Value{}))
		require.Error(t, p.Sign(r, secret.Value{}, prooftest.Now()))

		if p.Keyless {
			return
		}
		// Without a usable secret, Verify fails, and its error does not blame the sender.
		for _, secrets := range [][]secret.Value{nil, {secret.Value{}}} {
			_, err := p.Verify(t.Context(), r, secrets, prooftest.Now())
			require.Error(t, err)
			var refused *provider.VerifyError
			require.NotErrorAs(t, err, &refused)
		}
		verified, err := p.Verify(t.Context(), r, []secret.Value{{}, keyOf(t, p), keyOf(t, p)}, prooftest.Now())
		require.NoError(t, err)
		require.Equal(t, 1, verified.SecretIndex)
	})

	p := provide(t, "standard-webhooks", provider.Options{})
	err := p.CheckSecret(secret.New("whsec_#canary#"))
	require.ErrorContains(t, err, "not base64")
	require.NotContains(t, err.Error(), "canary")
	require.Error(t, p.CheckSecret(secret.New("whsec_")))
}

// TestSamplesAreReal checks that samples contain the fields that the demo routes and most
// users read.
func TestSamplesAreReal(t *testing.T) {
	t.Parallel()
	var body struct {
		Data struct {
			Object struct {
				ID            string
				CustomerEmail string `json:"customer_email"`
				AmountPaid    int    `json:"amount_paid"`
			}
		}
	}
	r := provide(t, "stripe", provider.Options{}).Sample("invoice.paid", "evt_7", prooftest.Now())
	require.NoError(t, json.Unmarshal(r.Body, &body))
	require.Equal(t, "in_7", body.Data.Object.ID)
	require.Equal(t, "jenny.rosen@example.com", body.Data.Object.CustomerEmail)
	require.Positive(t, body.Data.Object.AmountPaid)
}
