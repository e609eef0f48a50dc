package brokertest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	user, password = "hook", "canary-password"
	maxPayload     = 64 << 10 // bytes; the limit of every broker
)

// broker is a real broker with a user, and with a queue for messages with the default address.
type broker interface {
	// server returns the host:port of the running broker.
	server() string
	// sender creates a destination of the broker's kind.
	sender(o destination.BrokerOptions) (sender, error)
	// stored returns the messages that the broker has stored.
	stored(t *testing.T) []stored
	// kill stops the broker at once, and start starts it again with the same address and data.
	kill(t *testing.T)
	start(t *testing.T)
}

// facts are the properties in which brokers differ.
type facts struct {
	dedups     bool   // true if the broker stores only one message per key
	unroutable string // address that leads to no queue; empty if every address leads to one
	denied     string // address to which the user must not publish, or empty
}

type sender interface {
	destination.Sender
	destination.TimeLimited
	destination.HeaderChecker
	Close() error
}

// stored is a message as a consumer of the broker receives it.
type stored struct {
	key, body string
	header    http.Header
}

func options(b broker) destination.BrokerOptions {
	return destination.BrokerOptions{
		Name: "queue", Servers: []string{b.server()}, Username: user, Password: secret.New(password), Timeout: time.Minute,
	}
}

// with creates a destination that is closed at the end of the test.
func with(t *testing.T, b broker, change ...func(*destination.BrokerOptions)) sender {
	t.Helper()
	o := options(b)
	for _, f := range change {
		f(&o)
	}
	s, err := b.sender(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// through returns a function that makes a destination connect to a proxy, with a short timeout. The
// timeout is shorter than the 5 seconds between the clients' pings, which detect a deaf connection.
func through(p *proxy) func(*destination.BrokerOptions) {
	return func(o *destination.BrokerOptions) { o.Servers, o.Timeout = []string{p.address}, 4*time.Second }
}

var effects struct {
	sync.Mutex
	n int
}

// newEffect returns an effect as the first claim returns it. No two effects have the same key.
func newEffect() *ledger.Effect {
	effects.Lock()
	defer effects.Unlock()
	effects.n++
	id := identity.EffectID{Scope: "route:stripe:everything", Key: identity.Key(fmt.Sprint("evt_", effects.n)), Generation: 1}
	return &ledger.Effect{
		EffectID: id, IdempotencyKey: id.IdempotencyKey(), Destination: "queue",
		Event: identity.EventRef{Source: "stripe", EventID: "evt_1"}, EventType: "invoice.paid",
		Request: ledger.Request{ContentType: "application/json", Body: []byte(`{"paid":true}`)},
		State:   ledger.EffectStarted, Attempt: 1, CreatedAt: time.Now(),
	}
}

// of returns the stored messages of an effect.
func of(t *testing.T, b broker, e *ledger.Effect) []stored {
	t.Helper()
	var found []stored
	for _, one := range b.stored(t) {
		if one.key == e.IdempotencyKey {
			found = append(found, one)
		}
	}
	return found
}

func requireVerdict(t *testing.T, want ledger.Verdict, out destination.Outcome) {
	t.Helper()
	require.Equal(t, want, out.Verdict, "%v, %s", out.Err, out.Excerpt)
	if want == ledger.VerdictDone {
		require.NoError(t, out.Err)
		return
	}
	require.Error(t, out.Err)
	for _, text := range []string{out.Err.Error(), out.Excerpt} {
		require.NotContains(t, text, "canary")
		require.NotContains(t, text, "\n")
	}
}

// suite runs the tests that every broker passes, one after another on one broker.
func suite(t *testing.T, b broker, f facts) {
	t.Run("stores the exact bytes, key and headers", func(t *testing.T) {
		e := newEffect()
		e.Request.Body = []byte("{\"a\": \"\x00\xff\r\n\"} ")
		e.Request.Headers = map[string][]string{destination.HeaderReceivedAt: {"2026-09-30T12:00:00Z"}, "x-shop": {"one"}}
		e.EventType = "invoice paid"
		requireVerdict(t, ledger.VerdictDone, with(t, b).Send(t.Context(), e))
		messages := of(t, b, e)
		require.Len(t, messages, 1)
		require.Equal(t, string(e.Request.Body), messages[0].body)
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Hooklatch-Attempt": "1", "Hooklatch-Event-Id": "evt_1", "Hooklatch-Event-Type": "invoice%20paid",
			"Hooklatch-Event-Source": "stripe", "Hooklatch-Received-At": "2026-09-30T12:00:00Z", "X-Shop": "one",
		} {
			require.Equal(t, []string{want}, messages[0].header[name], name)
		}
	})

	t.Run("carries the same key again", func(t *testing.T) {
		e, s := newEffect(), with(t, b)
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), e))
		e.Attempt = 2
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), e))
		want := 2
		if f.dedups {
			want = 1
		}
		require.Len(t, of(t, b, e), want)
	})

	t.Run("shares one connection", func(t *testing.T) {
		p := newProxy(t, b.server())
		s := with(t, b, through(p), func(o *destination.BrokerOptions) { o.Timeout = time.Minute })
		before, attempts := len(b.stored(t)), sync.WaitGroup{}
		for range 100 {
			attempts.Go(func() { requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect())) })
		}
		attempts.Wait()
		require.Len(t, b.stored(t), before+100)
		require.EqualValues(t, 1, p.connected.Load())
	})

	t.Run("closes the connection after its attempts", func(t *testing.T) {
		ignore := goleak.IgnoreCurrent()
		s := with(t, b)
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
		require.NoError(t, s.Close())
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect())) // like an attempt that began before the close
		require.NoError(t, leaks.Find(ignore))
	})

	t.Run("is in doubt when the acknowledgement is lost", func(t *testing.T) {
		p := newProxy(t, b.server())
		e, s := newEffect(), with(t, b, through(p))
		require.Eventually(t, func() bool { return s.Send(t.Context(), newEffect()).Verdict == ledger.VerdictDone }, 2*time.Minute, 10*time.Millisecond, "the connection is open")
		p.goDeafAfter(e.IdempotencyKey)
		out := s.Send(t.Context(), e)
		requireVerdict(t, ledger.VerdictMaybeApplied, out)
		require.EqualError(t, out.Err, "no acknowledgement from "+p.address+" within 4s")
		require.Eventually(t, func() bool { return len(of(t, b, e)) == 1 }, 2*time.Minute, 10*time.Millisecond, "the message was stored")

		p.hear()
		require.Eventually(t, func() bool { return s.Send(t.Context(), e).Verdict == ledger.VerdictDone }, 2*time.Minute, 10*time.Millisecond)
		if f.dedups {
			require.Len(t, of(t, b, e), 1)
		}
	})

	t.Run("is in doubt when the connection breaks", func(t *testing.T) {
		p := newProxy(t, b.server())
		s := with(t, b, through(p), func(o *destination.BrokerOptions) { o.Timeout = time.Minute })
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
		e := newEffect()
		p.goDeafAfter(e.IdempotencyKey)
		go func() {
			for !p.deaf.Load() {
				<-time.After(time.Millisecond)
			}
			p.cut()
		}()
		began := time.Now()
		out := s.Send(t.Context(), e)
		requireVerdict(t, ledger.VerdictMaybeApplied, out)
		require.EqualError(t, out.Err, p.address+" closed the connection before its acknowledgement")
		require.Less(t, time.Since(began), 30*time.Second)
	})

	t.Run("ends with its context", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer silent.Close()
		s := with(t, b, func(o *destination.BrokerOptions) { o.Servers = []string{silent.Addr().String()} })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		requireVerdict(t, ledger.VerdictNotApplied, s.Send(ctx, newEffect()))
		require.Less(t, time.Since(began), 30*time.Second)
	})

	t.Run("tries the next server", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer silent.Close()
		refusing, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, refusing.Close())
		s := with(t, b, func(o *destination.BrokerOptions) {
			o.Servers, o.Timeout = []string{refusing.Addr().String(), silent.Addr().String(), b.server()}, 10*time.Second
		})
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
	})

	t.Run("waits for a broker that is down", func(t *testing.T) {
		s := with(t, b, func(o *destination.BrokerOptions) { o.Timeout = 20 * time.Second })
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
		b.kill(t)
		// The first attempts may still use the connection, and are in doubt.
		require.Eventually(t, func() bool {
			return s.Send(t.Context(), newEffect()).Verdict == ledger.VerdictNotApplied
		}, 2*time.Minute, 10*time.Millisecond)
		e := newEffect()
		out := s.Send(t.Context(), e)
		b.start(t)
		requireVerdict(t, ledger.VerdictNotApplied, out)
		require.EqualError(t, out.Err, "connect to "+b.server()+": connect: connection refused")
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), e))
		require.Len(t, of(t, b, e), 1)
	})

	t.Run("does not log in with a wrong password", func(t *testing.T) {
		out := with(t, b, func(o *destination.BrokerOptions) { o.Password = secret.New("canary-wrong") }).Send(t.Context(), newEffect())
		requireVerdict(t, ledger.VerdictNotApplied, out)
		require.ErrorContains(t, out.Err, b.server())
	})

	t.Run("refuses a message that is too large", func(t *testing.T) {
		e, s := newEffect(), with(t, b)
		e.Request.Body = []byte(strings.Repeat("x", 2*maxPayload))
		requireVerdict(t, ledger.VerdictRefused, s.Send(t.Context(), e))
		require.Empty(t, of(t, b, e))
		requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
	})

	t.Run("fails without a queue or a permission", func(t *testing.T) {
		s := with(t, b)
		for _, address := range []string{f.unroutable, f.denied} {
			if address == "" {
				continue
			}
			e := newEffect()
			e.Request.URL = address
			out := s.Send(t.Context(), e)
			requireVerdict(t, ledger.VerdictTurnedAway, out)
			t.Log(out.Err)
			require.Empty(t, of(t, b, e))
			requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
		}
	})

	t.Run("reaches only allowed addresses", func(t *testing.T) {
		_, port, err := net.SplitHostPort(b.server())
		require.NoError(t, err)
		out := with(t, b, func(o *destination.BrokerOptions) {
			o.Servers = []string{"localtest.example:" + port}
			o.Resolver = loopback(t)
		}).Send(t.Context(), newEffect())
		requireVerdict(t, ledger.VerdictRefused, out)
		require.ErrorContains(t, out.Err, "egress guard refused localtest.example: 127.0.0.1 is not a global address")
	})

	t.Run("shows no secrets", func(t *testing.T) {
		s := with(t, b)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", s, s, s), "canary")
	})
}
