package demo_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw"

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// post sends a request made by the function request, and returns the response status and body.
func post(t *testing.T, base, key, sign string) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request(t, base+"/effects", key, sign))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// request returns a request with an idempotency key, signed with the secret sign. If key or sign is
// empty, the request has no key or no signature.
func request(t *testing.T, to, key, sign string) *http.Request {
	t.Helper()
	const body = `{"type":"invoice.paid"}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	require.NoError(t, err)
	r.Close = true
	if sign != "" {
		standard, err := catalog.New("standard-webhooks", provider.Options{})
		require.NoError(t, err)
		signed := &provider.Request{Method: http.MethodPost, URL: &url.URL{}, Header: http.Header{"Webhook-Id": {"msg_1"}}, Body: []byte(body)}
		require.NoError(t, standard.Sign(signed, secret.New(sign), time.Now()))
		r.Header = signed.Header
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	r.Header.Set("Hooklatch-Event-Type", "invoice.paid")
	return r
}

func TestReceiverAppliesEachKeyOnce(t *testing.T) {
	t.Parallel()
	l := listener(t)
	lines := make(chan string, 10)
	receiver, err := demo.NewReceiver(demo.ReceiverOptions{Listener: l, Secret: secret.New(testSecret), Print: func(line string) { lines <- line }})
	require.NoError(t, err)
	receiver.Start()
	t.Cleanup(func() { require.NoError(t, receiver.Stop(context.Background())) })
	base := "http://" + l.Addr().String()

	status, body := post(t, base, "hl_1", testSecret)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"applied"}`, body)
	require.Contains(t, <-lines, "applied")
	_, body = post(t, base, "hl_1", testSecret)
	require.JSONEq(t, `{"status":"known"}`, body)
	require.Contains(t, <-lines, "request 2, not applied again")
	require.Len(t, receiver.Seen(), 1)
	require.Equal(t, 2, receiver.Seen()[0].Times)
	require.Equal(t, "invoice.paid", receiver.Seen()[0].EventType)

	status, _ = post(t, base, "hl_2", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = post(t, base, "hl_2", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = post(t, base, "", testSecret)
	require.Equal(t, http.StatusBadRequest, status)
	require.Len(t, receiver.Seen(), 1)
}

// A request that got no response is accepted when it is sent again.
func TestReceiverLeavesAFirstRequestUnanswered(t *testing.T) {
	t.Parallel()
	l := listener(t)
	receiver, err := demo.NewReceiver(demo.ReceiverOptions{Listener: l, Secret: secret.New(testSecret)})
	require.NoError(t, err)
	receiver.Start()
	t.Cleanup(func() { require.NoError(t, receiver.Stop(context.Background())) })
	to := "http://" + l.Addr().String() + demo.UnansweredPath
	_, err = new(http.Transport).RoundTrip(request(t, to, "hl_1", testSecret)) //nolint:bodyclose // there is no response
	require.Error(t, err)
	require.Empty(t, receiver.Seen())
	response, err := http.DefaultClient.Do(request(t, to, "hl_1", testSecret))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Len(t, receiver.Seen(), 1)
}

func TestMailCountsEachMessageIDOnce(t *testing.T) {
	t.Parallel()
	l := listener(t)
	lines := make(chan string, 10)
	mail := demo.NewMail(demo.MailOptions{Listener: l, Print: func(line string) { lines <- line }})
	mail.Start()
	t.Cleanup(func() { require.NoError(t, mail.Stop(context.Background())) })
	for range 2 {
		require.NoError(t, smtp.SendMail(l.Addr().String(), nil, "a@example.com", []string{"ann@example.com"},
			[]byte("Message-ID: <1@example.com>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHello\r\n")))
	}
	require.Equal(t, `mail      to ann@example.com: "Grüße", <1@example.com>`, <-lines)
	require.Contains(t, <-lines, "copy 2 with this id")
	require.Len(t, mail.Seen(), 1)
	require.Equal(t, 2, mail.Seen()[0].Times)
}

// Seen effects are visible only on this machine, and not to web sites that the user visits.
func TestSeenAnswersToNamesOfThisMachineOnly(t *testing.T) {
	t.Parallel()
	l := listener(t)
	receiver, err := demo.NewReceiver(demo.ReceiverOptions{Listener: l, Secret: secret.New(testSecret)})
	require.NoError(t, err)
	receiver.Start()
	t.Cleanup(func() { require.NoError(t, receiver.Stop(context.Background())) })
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for host, want := range map[string]int{
		"localhost:" + port: http.StatusOK, l.Addr().String(): http.StatusOK,
		"rebind.example.com:" + port: http.StatusMisdirectedRequest, "rebind.example.com": http.StatusMisdirectedRequest,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/seen", nil)
		require.NoError(t, err)
		r.Host, r.Close = host, true
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, host)
	}
}

// If a process fails during its start, its mail server is stopped before it has served.
func TestMailStopsRightAfterItsStart(t *testing.T) {
	t.Parallel()
	for range 100 {
		m := demo.NewMail(demo.MailOptions{Listener: listener(t)})
		m.Start()
		require.NoError(t, m.Stop(t.Context()))
	}
}
