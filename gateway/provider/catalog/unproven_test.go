package catalog

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// fill returns a body of about 1 MiB: head, repetitions of text, and tail.
func fill(head, text, tail string) string {
	return head + strings.Repeat(text, (1<<20-len(head)-len(tail))/len(text)) + tail
}

// hostile returns bodies of 1 MiB from an unknown sender. Some consist of as many tiny items
// as possible; the other bodies are expensive to read for another reason.
func hostile() map[string]struct{ contentType, body string } {
	const boundary = "multipart/form-data; boundary=b"
	return map[string]struct{ contentType, body string }{
		"members":            {proof.JSONType, fill(`{"":0`, `,"":0`, `}`)},
		"escaped members":    {proof.JSONType, fill(`{"":0`, `,"\u0061":0`, `}`)},
		"long text":          {proof.JSONType, fill(`{"a":"`, `\u00e9`, `"}`)},
		"long number":        {proof.JSONType, fill(`{"a":1`, `1`, `}`)},
		"nested":             {proof.JSONType, fill(`{"a":`, `[`, ``)},
		"items":              {proof.JSONType, fill(`[0`, `,0`, `]`)},
		"adyen items":        {proof.JSONType, fill(`{"notificationItems":[{}`, `,{}`, `]}`)},
		"adyen signed items": {proof.JSONType, fill(`{"notificationItems":[`+adyenWrong, `,`+adyenWrong, `]}`)},
		"adyen numbers":      {proof.JSONType, fill(`{"notificationItems":[0`, `,0`, `]}`)},
		"adyen members":      {proof.JSONType, fill(`{"notificationItems":[{"NotificationRequestItem":{"":0`, `,"":0`, `}}]}`)},
		"adyen additional data": {
			proof.JSONType, fill(`{"notificationItems":[{"NotificationRequestItem":{"additionalData":{"":0`, `,"":0`, `}}}]}`),
		},
		"adyen lists":        {proof.JSONType, fill(`{"notificationItems":[]`, `,"notificationItems":[]`, `}`)},
		"graph items":        {proof.JSONType, fill(`{"value":[{}`, `,{}`, `]}`)},
		"graph states":       {proof.JSONType, fill(`{"value":[{"clientState":"no"}`, `,{"clientState":"no"}`, `]}`)},
		"graph other states": {proof.JSONType, fill(`{"value":[`, `{"clientState":"a"},{"clientState":"b"},`, `0]}`)},
		"graph members":      {proof.JSONType, fill(`{"value":[{"":0`, `,"":0`, `}]}`)},
		"mailgun members":    {proof.JSONType, fill(`{"signature":{"":0`, `,"":0`, `}}`)},
		"mailgun proof":      {proof.JSONType, fill(`{"signature":{"timestamp":"1","token":"a","signature":"`+strings.Repeat("0", 64)+`"},"event-data":{"":0`, `,"":0`, `}}`)},
		"form":               {proof.FormType, fill("a", "&a", "")},
		"form of nothing":    {proof.FormType, fill("", "&", "")},
		"form of names":      {proof.FormType, fill("a=b", "&%61=%62", "")},
		"form of one field":  {proof.FormType, fill("a=", "%62", "")},
		"form of mailgun":    {proof.FormType, fill("signature="+strings.Repeat("0", 64)+"&timestamp=1&token=a", "&a=b", "")},
		"form of braintree":  {proof.FormType, fill("bt_signature=a%7Cb&bt_payload=a", "&a=b", "")},
		"parts":              {boundary, fill("", "--b\r\n\r\n\r\n", "--b--")},
		"parts with names":   {boundary, fill("", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n", "--b--")},
		"parts with headers": {boundary, fill("--b\r\n", "A: b\r\n", "\r\n--b--")},
		"one large part":     {boundary, fill("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n", "x", "\r\n--b--")},
		"text":               {"text/plain", fill("", "a", "")},
	}
}

const adyenWrong = `{"NotificationRequestItem":{"additionalData":{"hmacSignature":"coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="}}}`

// unproven returns a delivery that has the given body and the headers of a genuine delivery.
func unproven(t testing.TB, p *provider.Provider, contentType, body string) *provider.Request {
	t.Helper()
	r := p.Sample("", "evt_1", prooftest.Now())
	r.URL = &url.URL{Scheme: "https", Host: "hooks.example.com", Path: "/webhooks/demo"}
	require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
	r.Body, r.Method = []byte(body), http.MethodPost
	r.Header.Set("Content-Type", contentType)
	return r
}

// refuse does everything that a gateway does with a delivery up to and including its verification.
func refuse(t testing.TB, p *provider.Provider, r *provider.Request, secrets []secret.Value) {
	t.Helper()
	if p.Handshake != nil {
		if answer, err := p.Handshake(t.Context(), r, secrets, prooftest.Now()); err != nil || answer != nil {
			return
		}
	}
	_, err := p.Verify(t.Context(), r, secrets, prooftest.Now())
	if _, refused := errors.AsType[*provider.VerifyError](err); !refused && err != nil { // a token in the header verifies any body
		t.Fatalf("want a refusal, got %v", err)
	}
}

// TestStrangersBodiesAreCheapToRefuse compares the cost of refusing an unknown sender's body with
// the cost for the provider stripe, which only hashes the body. The tested providers read something
// in a body, such as a signature, before they have verified the body. They must not parse the rest
// of the body. The test measures processor time, which is stable on busy machines;
// BenchmarkUnproven measures the time until the sender has a response.
//
//nolint:paralleltest // it measures time and memory
func TestStrangersBodiesAreCheapToRefuse(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	bodies := hostile()
	cost := func(name, shape string) (took time.Duration, allocated uint64) {
		p := provide(t, name, configured(t)[name])
		r, secrets := unproven(t, p, bodies[shape].contentType, bodies[shape].body), []secret.Value{keyOf(t, p)}
		took, allocated = time.Hour, 1<<62
		for range 5 { // only the fastest run counts
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := threadTime(t)
			refuse(t, p, r, secrets)
			took = min(took, threadTime(t)-began)
			runtime.ReadMemStats(&after)
			allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
		}
		return took, allocated
	}
	hash, _ := cost("stripe", "text")
	if build, ok := debug.ReadBuildInfo(); ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		hash *= 5 // the race detector slows down our loops, but not the hash, which is assembly
	}
	for _, name := range []string{"adyen", "braintree", "mailgun", "microsoft-graph", "slack", "twilio", "zoom"} {
		for _, shape := range slices.Sorted(maps.Keys(bodies)) {
			took, allocated := cost(name, shape)
			for again := 0; again < 20 && took >= 10*hash; again++ { // a busy machine slows down even the fastest run
				repeated, _ := cost(name, shape)
				took = min(took, repeated)
			}
			require.Less(t, took, 10*hash, "%s: %s", name, shape)
			require.Less(t, allocated, uint64(4<<20), "%s: %s", name, shape)
		}
	}
}

// threadTime returns the processor time that this thread has used.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used))
	return time.Duration(used.Nano())
}

// BenchmarkUnproven shows the cost of an unknown sender's body of 1 MiB. For comparison, it also
// shows the cost for stripe: one hash of the body.
func BenchmarkUnproven(b *testing.B) {
	bodies := hostile()
	for _, name := range slices.Sorted(maps.Keys(configured(b))) {
		for _, shape := range slices.Sorted(maps.Keys(bodies)) {
			b.Run(strings.ReplaceAll(name+"/"+shape, " ", "-"), func(b *testing.B) {
				p := provide(b, name, configured(b)[name])
				r, secrets := unproven(b, p, bodies[shape].contentType, bodies[shape].body), []secret.Value{keyOf(b, p)}
				b.ReportAllocs()
				for b.Loop() {
					refuse(b, p, r, secrets)
				}
			})
		}
	}
}
