package receivers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// signingSecret is the secret of the destination "direct".
const signingSecret = "whsec_aG9va2xhdGNoLXRvcnR1cmUtc2lnbmluZy1zZWNyZXQ="

type testBundle struct {
	*receivers.Receivers

	file bytes.Buffer // content of the history
	save *history.Writer
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{}
	b.save = history.NewWriter(&b.file)
	b.Receivers = receivers.New(receivers.Options{
		History: b.save, Seed: 1, Slow: 20 * time.Millisecond,
		Secrets: map[string]secret.Value{"direct": secret.New(signingSecret)},
	})
	require.NoError(t, b.Start(t.Context()))
	t.Cleanup(b.Stop)
	return b
}

// calls stops the receivers and returns the ends of the calls, in order.
func (b *testBundle) calls(t *testing.T) []history.Record {
	t.Helper()
	b.Stop()
	require.NoError(t, b.save.Flush())
	var begun int
	var ends []history.Record
	for r, err := range history.Read(&b.file) {
		require.NoError(t, err)
		require.Equal(t, history.OpCall, r.Op)
		if r.Kind == history.Invoke {
			begun++
			continue
		}
		ends = append(ends, r)
	}
	require.Len(t, ends, begun, "every call has an end")
	return ends
}

const (
	// patient is the time limit for expected responses on a busy machine.
	patient = time.Minute
	// impatient is the time limit for responses that never arrive.
	impatient = 10 * time.Second
)

// sender returns a sender of package destination for a destination of the run.
func (b *testBundle) sender(t *testing.T, name string, timeout time.Duration) destination.Sender {
	t.Helper()
	if name == "mail" {
		mail, err := destination.NewEmail(destination.EmailOptions{
			Name: name, Host: b.MailAddr().Addr().String(), Port: int(b.MailAddr().Port()), From: "torture@example.com",
			TLS: destination.TLSNone, Timeout: timeout,
		})
		require.NoError(t, err)
		return mail
	}
	web, err := destination.NewHTTP(destination.HTTPOptions{Name: name, URL: b.URL() + "/" + name, Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, web.Close()) })
	return web
}

func effect(t *testing.T, name, key string) *ledger.Effect {
	t.Helper()
	e := &ledger.Effect{IdempotencyKey: key, Destination: name, Attempt: 1, Policy: ledger.AtLeastOnce, CreatedAt: time.Unix(1_800_000_000, 0)}
	e.Request.Body = []byte(`{"key": "` + key + `"}`)
	if name == "mail" {
		body, err := destination.Message{To: []string{"nobody@example.com"}, Subject: key, Text: "torture"}.Encode()
		require.NoError(t, err)
		e.Request.Body, e.Request.ContentType = body, destination.EmailContentType
	}
	return e
}

// The history records the caller's knowledge of a call: ok if the call was confirmed, fail if
// certainly nothing was applied.
func TestHistorySaysWhatTheCallerKnew(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app", "mail"} {
		for _, behaviour := range receivers.Behaviours() {
			if behaviour == receivers.Random {
				continue
			}
			t.Run(name+" "+string(behaviour), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.Behave(name, behaviour)
				timeout := patient
				if behaviour == receivers.Hang {
					timeout = impatient
				}
				out := b.sender(t, name, timeout).Send(t.Context(), effect(t, name, "key_1"))
				calls := b.calls(t)
				require.Len(t, calls, 1)
				c := calls[0]
				require.Equal(t, "key_1", c.Call.Key)
				require.Equal(t, string(behaviour), c.Call.Behaviour)
				switch out.Verdict {
				case ledger.VerdictDone:
					require.Equal(t, history.OK, c.Kind)
					require.True(t, c.Call.Applied)
				case ledger.VerdictMaybeApplied:
					require.Equal(t, history.Unknown, c.Kind)
				default:
					require.Contains(t, []history.Kind{history.Fail, history.Unknown}, c.Kind)
					require.False(t, c.Call.Applied, "%s: %v", behaviour, out.Err)
				}
				require.Equal(t, behaviour.Final(), out.Verdict == ledger.VerdictRefused, "%v", out.Err)
			})
		}
	}
}

func TestKeyIsAppliedOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app", "mail"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			sender := b.sender(t, name, patient)
			for _, behaviour := range []receivers.Behaviour{receivers.ErrorBefore, receivers.ResetAfterApply, receivers.OK, receivers.OK} {
				b.Behave(name, behaviour)
				sender.Send(t.Context(), effect(t, name, "key_1"))
			}
			require.Equal(t, receivers.Totals{Calls: 4, Applied: 1, Known: 2}, b.Totals())
			other := effect(t, name, "key_2")
			require.Equal(t, ledger.VerdictDone, sender.Send(t.Context(), other).Verdict)
			other.Request.Body = bytes.Replace(other.Request.Body, []byte("key_2"), []byte("key_3"), 1)
			require.Equal(t, ledger.VerdictDone, sender.Send(t.Context(), other).Verdict)
			require.Equal(t, receivers.Totals{Calls: 6, Applied: 2, Known: 3, Differ: 1}, b.Totals())

			calls := b.calls(t)
			applied, known := make([]bool, 0, 6), make([]bool, 0, 6)
			for _, c := range calls {
				applied, known = append(applied, c.Call.Applied), append(known, c.Call.Known)
			}
			require.Equal(t, []bool{false, true, false, false, true, false}, applied)
			require.Equal(t, []bool{false, false, true, true, false, true}, known)
			require.Equal(t, calls[0].Call.Hash, calls[3].Call.Hash)
			require.NotEqual(t, calls[4].Call.Hash, calls[5].Call.Hash)
			require.Contains(t, calls[5].Text, "another body")
		})
	}
}

func TestOneOfManyCallsAtOnceIsApplied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sender := b.sender(t, "app", patient)
	done := make(chan ledger.Verdict)
	for range 50 {
		go func() { done <- sender.Send(context.WithoutCancel(t.Context()), effect(t, "app", "key_1")).Verdict }()
	}
	for range 50 {
		require.Equal(t, ledger.VerdictDone, <-done)
	}
	applied := 0
	for _, c := range b.calls(t) {
		require.NotEqual(t, c.Call.Applied, c.Call.Known)
		if c.Call.Applied {
			applied++
		}
	}
	require.Equal(t, 1, applied)
}

func TestSignatureIsAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, ledger.VerdictTurnedAway, b.sender(t, "direct", patient).Send(t.Context(), effect(t, "direct", "key_1")).Verdict)
	for _, secrets := range [][]string{{signingSecret}, {"whsec_b3RoZXItdG9ydHVyZS1zaWduaW5nLXNlY3JldC4uLi4=", signingSecret}} {
		sign := &destination.Sign{}
		for _, s := range secrets {
			sign.StandardWebhooks = append(sign.StandardWebhooks, secret.New(s))
		}
		signing, err := destination.NewHTTP(destination.HTTPOptions{Name: "direct", URL: b.URL() + "/direct", Sign: sign})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, signing.Close()) })
		require.Equal(t, ledger.VerdictDone, signing.Send(t.Context(), effect(t, "direct", "key_1")).Verdict)
	}
	require.Equal(t, 1, b.Totals().Applied)
}

// A seed decides the choices of Random. An effect always finishes, whatever Random does.
func TestRandomIsRepeatedBySeed(t *testing.T) {
	t.Parallel()
	run := func() []string {
		b := setup(t)
		b.Behave("app", receivers.Random)
		sender := b.sender(t, "app", impatient)
		for i := range 40 {
			e := effect(t, "app", fmt.Sprintf("key_%d", i))
			for {
				verdict := sender.Send(t.Context(), e).Verdict
				require.NotEqual(t, ledger.VerdictRefused, verdict)
				if verdict == ledger.VerdictDone {
					break
				}
				e.Attempt++
			}
		}
		require.Equal(t, 40, b.Totals().Applied)
		var behaviours []string
		for _, c := range b.calls(t) {
			behaviours = append(behaviours, c.Call.Behaviour)
		}
		return behaviours
	}
	// On a busy machine, additional calls may happen. They do not change the others.
	first, second := run(), run()
	n := min(len(first), len(second))
	require.Equal(t, first[:n], second[:n])
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(first)))), 5)
}

func TestNobodyListensWhileItIsDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// Each send opens a new connection, because an outage closes idle ones.
	send := func(key string) ledger.Verdict {
		return b.sender(t, "app", patient).Send(t.Context(), effect(t, "app", key)).Verdict
	}
	require.Equal(t, ledger.VerdictDone, send("key_1"))
	b.Down()
	b.Down()
	require.Equal(t, ledger.VerdictNotApplied, send("key_2"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, b.Up(ctx))
	require.NoError(t, b.Up(ctx))
	require.Equal(t, ledger.VerdictDone, send("key_2"))
	require.Len(t, b.calls(t), 2)
}

// A call to an unknown destination, or without a key, is recorded, because it shows a bug.
func TestStrayCallsAreWrittenDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/elsewhere", "/app"} {
		response, err := client.Post(b.URL()+path, "text/plain", strings.NewReader("stray"))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, response.StatusCode)
	}
	calls := b.calls(t)
	require.Len(t, calls, 2)
	require.Equal(t, "elsewhere", calls[0].Call.Destination)
	require.Equal(t, history.Fail, calls[1].Kind)
	require.Panics(t, func() { b.Behave("nowhere", receivers.OK) })
}

// Stop ends hanging calls, and the history contains their ends.
func TestStopEndsWhatHangs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app", "mail"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Behave(name, receivers.Hang)
			sender := b.sender(t, name, patient)
			sent := make(chan ledger.Verdict)
			go func() { sent <- sender.Send(context.WithoutCancel(t.Context()), effect(t, name, "key_1")).Verdict }()
			require.Eventually(t, func() bool { return b.Totals().Calls == 1 }, 2*time.Minute, time.Millisecond)
			calls := b.calls(t)
			require.Equal(t, ledger.VerdictMaybeApplied, <-sent)
			require.Len(t, calls, 1)
			require.Equal(t, history.Unknown, calls[0].Kind)
		})
	}
}
