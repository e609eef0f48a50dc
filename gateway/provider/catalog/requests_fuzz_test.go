package catalog

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// catalogue holds every provider, and every shape of the generic ones, built once.
type catalogue struct {
	names     []string
	providers map[string]*provider.Provider
}

func everything(t testing.TB) *catalogue {
	c := &catalogue{providers: map[string]*provider.Provider{}}
	for name, o := range configured(t) {
		c.providers[name] = provide(t, name, o)
	}
	c.names = slices.Sorted(maps.Keys(c.providers))
	return c
}

// named returns the provider for a name. Seeds use each name, and any name that the fuzzer
// creates maps to some provider.
func (c *catalogue) named(name string) *provider.Provider {
	if p := c.providers[name]; p != nil {
		return p
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return c.providers[c.names[h.Sum32()%uint32(len(c.names))]]
}

// requestText is a request in the fuzzer's notation: headers are lines with name and value.
type requestText struct{ name, method, query, headers string }

func (text requestText) request(body []byte) *provider.Request {
	r := &provider.Request{Method: text.method, URL: prooftest.URL(""), Header: http.Header{}, Body: body}
	r.URL.RawQuery = text.query
	for line := range strings.SplitSeq(text.headers, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Add(name, value)
		}
	}
	return r
}

func textOf(name string, r *provider.Request) requestText {
	var headers []string
	for _, header := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[header] {
			headers = append(headers, header+": "+value)
		}
	}
	return requestText{name, r.Method, r.URL.RawQuery, strings.Join(headers, "\n")}
}

// addRequests seeds a fuzz target with a signed sample from each provider and with the
// deliveries of the given kinds.
func addRequests(f *testing.F, all *catalogue, kinds ...string) {
	add := func(name string, r *provider.Request) {
		text := textOf(name, r)
		f.Add(text.name, text.method, text.query, text.headers, r.Body)
	}
	for _, name := range all.names {
		p := all.providers[name]
		r := p.Sample("", "evt_1", prooftest.Now())
		r.URL = prooftest.URL("")
		require.NoError(f, p.Sign(r, keyOf(f, p), prooftest.Now()))
		add(name, r)
	}
	for _, name := range Names() {
		for _, c := range deliveriesOf(f, name).cases {
			if slices.Contains(kinds, c.kind) {
				_, _, r := c.received(f, name)
				add(name, r)
			}
		}
	}
}

// strangers returns secrets of every kind. No request was signed with any of them.
var strangers = sync.OnceValue(func() []string {
	ecdsaOther := prooftest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	_, ed25519Other, err := ed25519.GenerateKey(rand.Reader)
	return []string{
		"of a stranger", "user:of a stranger", "integration_public_key:of a stranger", strings.Repeat("5A", 32),
		"whsec_c3RyYW5nZXIgc3RyYW5nZXIgc3RyYW5nZXI=", prooftest.KeyPEM(strangerKey()), prooftest.KeyPEM(ecdsaOther), hex.EncodeToString(prooftest.Must(ed25519Other, err)),
		"WEBHOOK_ID " + base64.StdEncoding.EncodeToString(prooftest.Must(x509.MarshalPKCS8PrivateKey(strangerKey()))),
	}
})

var strangerKey = sync.OnceValue(func() *rsa.PrivateKey { return prooftest.Must(rsa.GenerateKey(rand.Reader, 2048)) })

// stranger returns the provider of a source whose secret signed no request, and that secret.
func stranger(t testing.TB, name string, p *provider.Provider) (*provider.Provider, secret.Value) {
	if publishes := deliveriesOf(t, p.Name).source.Publishes; publishes != nil {
		o, others := configured(t)[name], prooftest.Published{}
		for rawURL := range publishes {
			others[rawURL] = prooftest.KeySet(strangerKey())
		}
		o.Fetch = others
		p = provide(t, name, o)
	}
	signed := signedSample(t, p, "", "evt_1")
	for _, text := range strangers() {
		if key := secret.New(text); p.CheckSecret(key) == nil {
			if _, err := p.Verify(t.Context(), signed, []secret.Value{key}, prooftest.Now()); err != nil {
				return p, key
			}
		}
	}
	t.Fatalf("%s: add a secret of its kind to strangers", name)
	return nil, secret.Value{}
}

// FuzzVerify sends requests that none of the source's secrets signed: nothing panics, nothing
// is verified, and every refusal is the sender's fault.
func FuzzVerify(f *testing.F) {
	all := everything(f)
	addRequests(f, all, "refused")
	keys := map[*provider.Provider]secret.Value{}
	for name, p := range all.providers {
		p, key := stranger(f, name, p)
		all.providers[name], keys[p] = p, key
	}
	f.Fuzz(func(t *testing.T, name, method, query, headers string, body []byte) {
		p := all.named(name)
		r := requestText{name, method, query, headers}.request(body)
		verified, err := p.Verify(t.Context(), r, []secret.Value{keys[p]}, prooftest.Now())
		if err == nil {
			t.Fatalf("%s: a foreign secret verifies the request: %+v", p.Name, verified)
		}
		require.IsType(t, &provider.VerifyError{}, err)
	})
}

// FuzzEvents extracts ids and types from any request, as if it were verified.
func FuzzEvents(f *testing.F) {
	all := everything(f)
	addRequests(f, all, "accepted", "unusable")
	f.Fuzz(func(t *testing.T, name, method, query, headers string, body []byte) {
		requireSound(t, all.named(name), requestText{name, method, query, headers}.request(body))
	})
}

// requireSound extracts r's events. It checks that each event can be stored, that the body
// remains unchanged, and that everything else read from the request is safe to log.
func requireSound(t *testing.T, p *provider.Provider, r *provider.Request) {
	before := string(r.Body)
	if p.Retry != nil {
		info := p.Retry(r)
		require.GreaterOrEqual(t, info.Number, 0)
		for _, text := range []string{info.Reason, info.Token} {
			require.Regexp(t, "^[ -~]{0,64}$", text)
		}
	}
	if p.ReplayToken != nil {
		token := p.ReplayToken(r)
		require.True(t, proof.Clean(token) && len(token) <= proof.MaxText, "%q", token)
	}
	if p.Answer != nil {
		answer := p.Answer(r)
		require.True(t, answer == nil || answer.Status/100 == 2)
	}
	events, err := p.Events(r)
	require.Equal(t, before, string(r.Body))
	if err != nil {
		require.IsType(t, &provider.EventError{}, err)
		require.True(t, proof.Clean(err.Error()), "%q", err)
		return
	}
	for _, e := range events {
		for _, text := range []string{e.ID, e.Type} {
			require.NotEmpty(t, text)
			require.LessOrEqual(t, len(text), proof.MaxText)
			require.True(t, utf8.ValidString(text) && !strings.Contains(text, "\x00"), "%q", text)
		}
		require.True(t, proof.Clean(e.APIVersion))
		require.True(t, proof.Clean(e.Item), "%q", e.Item)
		require.Equal(t, e.Item == "", e.Part == nil)
		_, err := e.OccurredAt.MarshalJSON()
		require.NoError(t, err)
	}
}

// FuzzHandshake sends arbitrary endpoint checks. A response must have a 2xx status. Its
// content type must not be HTML, and must not contain a line end that starts another header.
func FuzzHandshake(f *testing.F) {
	all := everything(f)
	addRequests(f, all, "handshake")
	for _, name := range all.names {
		if all.providers[name].Handshake != nil {
			f.Add(name, http.MethodGet, "challenge=a&crc_token=b&bt_challenge=20f9f8ed&hub.mode=subscribe&hub.challenge=c&hub.verify_token="+prooftest.Secret, "", []byte{})
			f.Add(name, http.MethodPost, "validationToken=a+b%3C", "", []byte{})
		}
	}
	f.Fuzz(func(t *testing.T, name, method, query, headers string, body []byte) {
		p := all.named(name)
		if p.Handshake == nil {
			return
		}
		r := requestText{name, method, query, headers}.request(body)
		before := string(r.Body)
		answer, err := p.Handshake(t.Context(), r, []secret.Value{keyOf(t, p)}, prooftest.Now())
		require.Equal(t, before, string(r.Body))
		if err != nil {
			require.Nil(t, answer)
			return
		}
		if answer == nil {
			return
		}
		require.Equal(t, 2, answer.Status/100)
		require.NotContains(t, answer.ContentType, "html")
		require.True(t, proof.Clean(answer.ContentType))
		require.Equal(t, len(answer.Body) == 0, answer.ContentType == "")
	})
}

// FuzzAnyBit signs a body and changes one bit of the signature or the body. The request must
// then be refused.
func FuzzAnyBit(f *testing.F) {
	all := everything(f)
	for _, name := range all.names {
		r := all.providers[name].Sample("", "evt_1", prooftest.Now())
		for _, bit := range []uint32{0, 7, 1000, 1 << 20} {
			f.Add(name, textOf(name, &provider.Request{Header: r.Header, URL: prooftest.URL("")}).headers, r.Body, bit)
		}
	}
	f.Fuzz(func(t *testing.T, name, headers string, body []byte, bit uint32) {
		p := all.named(name)
		r := requestText{name, http.MethodPost, "a=b", headers}.request(body)
		for header, values := range r.Header { // repeated headers are refused: other tests cover them
			r.Header[header] = values[:1]
		}
		if err := p.Sign(r, keyOf(t, p), prooftest.Now()); err != nil {
			return // a body that cannot carry the signature
		}
		if err := verifies(t, p, r); err != nil {
			require.IsType(t, &provider.VerifyError{}, err) // an id that cannot be signed
			return
		}
		signed := signing(t, p, &provider.Request{Method: r.Method, Header: r.Header, Body: body}, keyOf(t, p))
		slices.Sort(signed)
		at := int(bit)
		for _, header := range signed {
			value := r.Header.Get(header)
			if at < len(value)*8 {
				r.Header[header] = []string{prooftest.Flip(value, at)}
				require.Error(t, verifies(t, p, r), "%s: %q, signed as %q", header, prooftest.Flip(value, at), value)
				return
			}
			at -= len(value) * 8
		}
		if of := deliveriesOf(t, p.Name).samples; of.Unsigned || of.InBody || len(r.Body) == 0 {
			return
		}
		changed := prooftest.Flip(string(r.Body), at%(len(r.Body)*8))
		if p.Name == "twilio" && sameForm(t, p, string(r.Body), changed) {
			return
		}
		r.Body = []byte(changed)
		require.Error(t, verifies(t, p, r), "%q", changed)
	})
}
