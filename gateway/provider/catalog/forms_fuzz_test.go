package catalog

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// form returns an unsigned POST request whose body is a form.
func form(body string) *provider.Request {
	return &provider.Request{Method: http.MethodPost, URL: prooftest.URL(""), Header: http.Header{"Content-Type": {payload.FormType}}, Body: []byte(body)}
}

func FuzzBraintree(f *testing.F) {
	f.Add("a|00&b|11", "PGE+", `<notification><kind>a</kind><timestamp>b</timestamp><subject><x><id>1</id></x></subject></notification>`)
	f.Add("a|00&a|00", "?", `<notification><kind>a</kind><subject><x/><y/></subject></notification>`)
	f.Fuzz(func(t *testing.T, signatures, payload, text string) {
		p := provide(t, "braintree", provider.Options{})
		unsigned := form(url.Values{"bt_payload": {payload}, "bt_signature": {signatures}}.Encode())
		require.IsType(t, &provider.VerifyError{}, verifies(t, p, unsigned))
		for _, given := range []string{payload, base64.StdEncoding.EncodeToString([]byte(text))} {
			requireSound(t, p, form(url.Values{"bt_payload": {given}}.Encode()))
		}
	})
}

func FuzzMailgunForm(f *testing.F) {
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\na\r\n--x--\r\n"), "multipart/form-data; boundary=x")
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"recipient\"; filename=\"a\"\r\n\r\na\r\n--x--\r\n"), `multipart/form-data; boundary="x"`)
	f.Add([]byte("token=a&recipient=b&Message-Id=c"), payload.FormType)
	f.Add([]byte("--x"), "multipart/form-data")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		p := provide(t, "mailgun", provider.Options{})
		r := &provider.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {contentType}}, Body: body}
		require.IsType(t, &provider.VerifyError{}, verifies(t, p, r))
		requireSound(t, p, r)
		p.ReplayToken(r)
	})
}

// FuzzTwilioForm checks that a signature made by Sign verifies, and still verifies when the fields
// are in reverse order.
func FuzzTwilioForm(f *testing.F) {
	f.Add("MessageSid=SM1&MessageStatus=sent&A=&A=b", "a=1&b=%20")
	f.Add("CallSid=CA1&CallStatus=completed&x=%zz;", "bodySHA256=00&c=+")
	f.Add("[{}]", "")
	f.Fuzz(func(t *testing.T, body, query string) {
		p := provide(t, "twilio", provider.Options{})
		r := form(body)
		r.URL.RawQuery = query
		if err := p.Sign(r, keyOf(t, p), prooftest.Now()); err != nil {
			require.IsType(t, &provider.VerifyError{}, err)
			return
		}
		require.NoError(t, verifies(t, p, r))
		requireSound(t, p, r)
		fields := strings.Split(body, "&")
		slices.Reverse(fields)
		if reversed := strings.Join(fields, "&"); payload.IsForm(payload.FormType, []byte(reversed)) && payload.IsForm(payload.FormType, r.Body) {
			r.Body = []byte(reversed)
			require.NoError(t, verifies(t, p, r))
		}
	})
}
