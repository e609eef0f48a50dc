package provider

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// FuzzPairs reads signature headers: what is found stands in the header.
func FuzzPairs(f *testing.F) {
	f.Add("t=1,v1=ab,v1=cd,v0=ef")
	f.Add("v1,AAAA v1a,BBBB")
	f.Add("t=1;h1=00;h1")
	shapes := []*pairs{
		{separator: ",", assign: "=", signature: "v1", timestamp: "t"},
		{separator: " ", assign: ",", signature: "v1"},
		{separator: ";", assign: "=", signature: "h1", timestamp: "ts"},
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, p := range shapes {
			signatures, timestamp, err := p.read(header)
			if err != nil {
				require.IsType(t, &VerifyError{}, err)
				continue
			}
			require.NotEmpty(t, signatures)
			for _, s := range signatures {
				require.Contains(t, header, p.signature+p.assign+s)
			}
			require.Contains(t, header, timestamp)
		}
	})
}

// FuzzEncoding finds no two spellings of the same bytes that differ in one
// place.
func FuzzEncoding(f *testing.F) {
	f.Add("00ff", uint16(3))
	f.Add("AA==", uint16(9))
	f.Add("-_8", uint16(0))
	f.Fuzz(func(t *testing.T, s string, bit uint16) {
		if s == "" {
			return
		}
		other := flip(s, int(bit)%(len(s)*8))
		for _, e := range []encoding{hexDigits, base64Std, base64URL} {
			a, err := e.decode(s)
			if err != nil || len(a) == 0 {
				continue
			}
			b, err := e.decode(other)
			if err != nil || e == hexDigits && strings.EqualFold(s, other) {
				continue // a single letter has no other one to agree with in case
			}
			require.NotEqual(t, a, b, "%s and %s", s, other)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("{ts}.{body}")
	f.Add("v0:{ts}:{body}{url}{method}{id}}")
	f.Fuzz(func(t *testing.T, s string) {
		parts, ok := parseTemplate(s)
		if ok {
			require.Equal(t, s, strings.Join(parts, ""))
			parts.after(inID)
		}
	})
}

// FuzzTwilioForm verifies what it signed, and signs alike whatever the order
// of the fields.
func FuzzTwilioForm(f *testing.F) {
	f.Add("MessageSid=SM1&MessageStatus=sent&A=&A=b", "a=1&b=%20")
	f.Add("CallSid=CA1&CallStatus=completed&x=%zz;", "bodySHA256=00&c=+")
	f.Add("[{}]", "")
	f.Fuzz(func(t *testing.T, body, query string) {
		p := provide(t, "twilio", Options{})
		r := &Request{Method: http.MethodPost, URL: parseURL(t, ""), Header: http.Header{"Content-Type": {formType}}, Body: []byte(body)}
		r.URL.RawQuery = query
		if err := p.Sign(r, keyOf(p), testNow); err != nil {
			require.IsType(t, &VerifyError{}, err)
			return
		}
		require.NoError(t, verifies(t, p, r))
		requireSound(t, p, r)
		fields := strings.Split(body, "&")
		slices.Reverse(fields)
		if reversed := strings.Join(fields, "&"); isForm(&Request{Header: r.Header, Body: []byte(reversed)}) && isForm(r) {
			r.Body = []byte(reversed)
			require.NoError(t, verifies(t, p, r))
		}
	})
}

// FuzzEvents extracts ids and types from any body and headers.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"id":"evt_1","type":"a","event_id":"Ev","event":{"type":"x"},"data":[1]}`), "id", jsonType)
	f.Add([]byte(`{"id":"\ud800\u0000","type":1e5,"id":{},"timestamp":1e999}`), "a\x00", jsonType)
	f.Add([]byte(`payload=%7B%22type%22%3A%22a%22%7D&command=x&ref=1&kind=2`), "id", formType)
	f.Add([]byte(`[{"id":"a","type":"b"},{"id":7,"type":"c"}]`), strings.Repeat("x", 300), jsonType)
	all := configured()
	f.Fuzz(func(t *testing.T, body []byte, id, contentType string) {
		for name, o := range all {
			p := provide(t, name, o)
			r := p.Sample("", "", testNow)
			r.Body, r.URL = body, parseURL(t, "")
			r.Header.Set("Content-Type", contentType)
			for _, header := range []string{"X-GitHub-Delivery", "X-Shopify-Event-Id", "Webhook-Id", "X-Event", "X-Id"} {
				r.Header.Set(header, id)
			}
			requireSound(t, p, r)
		}
	})
}

// requireSound extracts the events of r: each can be stored, and none of them
// touches the body.
func requireSound(t *testing.T, p *Provider, r *Request) {
	before := string(r.Body)
	events, err := p.Events(r)
	require.Equal(t, before, string(r.Body))
	if err != nil {
		require.IsType(t, &EventError{}, err)
		require.True(t, clean(err.Error()), "%q", err)
		return
	}
	for _, e := range events {
		for _, text := range []string{e.ID, e.Type} {
			require.NotEmpty(t, text)
			require.LessOrEqual(t, len(text), maxText)
			require.True(t, utf8.ValidString(text) && !strings.Contains(text, "\x00"), "%q", text)
		}
		require.True(t, clean(e.APIVersion))
		_, err := e.OccurredAt.MarshalJSON()
		require.NoError(t, err)
	}
}

// FuzzVerify sends noise: nothing panics, nothing is proven, and all refusals
// are the sender's fault.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"type":"url_verification","challenge":"x"}`), "t=1767225600,v1=00", "1767225600", "msg_1", "a=b")
	f.Add([]byte(`a=b`), "v1,AAAA", "-1", "a.b", "bodySHA256=ff")
	f.Add([]byte(``), "sha256=00", "", "", "%zz")
	all := configured()
	f.Fuzz(func(t *testing.T, body []byte, signature, timestamp, id, query string) {
		for name, o := range all {
			p := provide(t, name, o)
			r := &Request{Method: http.MethodPost, URL: parseURL(t, ""), Header: http.Header{}, Body: body}
			r.URL.RawQuery = query
			r.Header.Set("Content-Type", formType)
			for _, header := range []string{
				"Stripe-Signature", "X-Hub-Signature-256", "X-Shopify-Hmac-Sha256", "X-Twilio-Signature", "X-Slack-Signature",
				"Webhook-Signature", "X-Sig",
			} {
				r.Header.Set(header, signature)
			}
			for _, header := range []string{"X-Slack-Request-Timestamp", "Webhook-Timestamp", "X-Ts"} {
				r.Header.Set(header, timestamp)
			}
			r.Header.Set("Webhook-Id", id)
			r.Header.Set("X-Id", id)
			_, err := p.Verify(t.Context(), r, []secret.Value{keyOf(p)}, testNow)
			require.IsType(t, &VerifyError{}, err)
			if p.Handshake != nil {
				answer, _ := p.Handshake(t.Context(), r, []secret.Value{keyOf(p)}, testNow)
				require.Nil(t, answer)
			}
		}
	})
}

// FuzzDigest hashes any JSON, and the same after it was written anew.
func FuzzDigest(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\u0000\ud800\\"}],"c":1e400, "a" : ""}`)
	f.Add(` [ ] `)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		compact, err := json.Marshal(json.RawMessage(text))
		require.NoError(t, err)
		if utf8.ValidString(text) {
			require.Equal(t, digestOf(text), digestOf(string(compact)))
		}
		root := gjson.Parse(text)
		lookup(root, "/a/0")
		scalar(lookup(root, "/a"))
	})
}
