package crashtest

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/mail"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// mailbox is a real SMTP server that keeps every message it accepts.
type mailbox struct {
	port int

	mu       sync.Mutex
	messages map[string][][]byte // by Subject, which identifies the effect
	hold     chan struct{}       // responses to messages wait until it is closed; if nil, they do not wait
	held     int
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	m := &mailbox{messages: make(map[string][][]byte)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m.port = listener.Addr().(*net.TCPAddr).Port
	server := smtp.NewServer(m)
	server.Domain, server.ErrorLog = "mx.example.com", slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		m.release()
		_ = server.Close()
		serving.Wait()
	})
	return m
}

// NewSession implements smtp.Backend.
func (m *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return mailSession{m}, nil }

type mailSession struct{ box *mailbox }

func (mailSession) Reset()                               {}
func (mailSession) Logout() error                        { return nil }
func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

// Data accepts the message, even if the response gets lost.
func (s mailSession) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err // the final dot did not arrive
	}
	message, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return err
	}
	s.box.mu.Lock()
	subject := message.Header.Get("Subject")
	s.box.messages[subject] = append(s.box.messages[subject], content)
	hold := s.box.hold
	if hold != nil {
		s.box.held++
	}
	s.box.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return nil
}

func (m *mailbox) holdAnswers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold, m.held = make(chan struct{}), 0
}

func (m *mailbox) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold != nil {
		close(m.hold)
		m.hold = nil
	}
}

func (m *mailbox) waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// copies returns the number of messages by their number of copies. It requires that all copies of a
// message have the same bytes, and so the same Message-ID, and that no two messages share a
// Message-ID.
func (m *mailbox) copies(t *testing.T) map[int]int {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	histogram, ids := make(map[int]int), make(map[string]bool)
	for subject, copies := range m.messages {
		histogram[len(copies)]++
		first, err := mail.ReadMessage(bytes.NewReader(copies[0]))
		require.NoError(t, err)
		id := first.Header.Get("Message-ID")
		require.NotEmpty(t, id)
		require.False(t, ids[id], "two effects with one Message-ID")
		ids[id] = true
		for _, content := range copies {
			again, err := mail.ReadMessage(bytes.NewReader(content))
			require.NoError(t, err)
			require.Equal(t, id, again.Header.Get("Message-ID"), subject)
			require.Equal(t, string(copies[0]), string(content), subject)
		}
	}
	return histogram
}

// killMailers kills worker processes at each point in turn, and lets time pass between the kills.
// An undisturbed process then finishes the work.
func killMailers(t *testing.T, l *scene, m *mailbox, policy ledger.Policy, kills, concurrency int) {
	t.Helper()
	for i := range kills {
		at := []point{beforeIt, afterSent, answered, settling}[i%4]
		if at == afterSent {
			m.holdAnswers()
		}
		p := startWorker(t, l.pool, setting{SMTPPort: m.port, Timeout: patience, Policy: policy, Concurrency: concurrency, WaitAt: at, Batch: concurrency})
		require.Eventually(t, func() bool {
			switch at {
			case beforeIt:
				return len(p.marked(markBefore)) == concurrency
			case afterSent:
				return m.waiting() == concurrency
			}
			return len(p.marked(markAnswered)) == concurrency
		}, patience, 200*time.Microsecond)
		if at == settling {
			<-time.After(time.Duration(rand.IntN(5_000)) * time.Microsecond) // kill the process at a random moment
		}
		p.kill()
		m.release()
		l.settleDown(t)
		l.passTime(t)
	}
	startWorker(t, l.pool, setting{SMTPPort: m.port, Timeout: patience, Policy: policy, Concurrency: concurrency})
	l.finish(t)
}

// I8: no email is sent twice, over 20 kills.
func TestKilledMailersSendAtMostOnce(t *testing.T) {
	t.Parallel()
	const kills, concurrency = 20, 4
	const n = kills*2*concurrency + concurrency
	l, m := newScene(t, "email", ledger.AtMostOnce), newMailbox(t)
	keys := l.enqueue(t, n, func(i int) ledger.Request { return email(t, fmt.Sprint("order ", i)) })
	killMailers(t, l, m, ledger.AtMostOnce, kills, concurrency)

	done, parked := l.inState(t, ledger.EffectDone), l.inState(t, ledger.EffectParked)
	histogram := m.copies(t)
	t.Logf("%d kills: %d done, %d parked; messages by copies: %v", kills, len(done), len(parked), histogram)
	require.Equal(t, map[int]int{1: len(m.messages)}, histogram)
	require.GreaterOrEqual(t, len(parked), kills*concurrency*3/4, "only effects killed while they settled may be done")
	require.Equal(t, n, len(done)+len(parked))
	for i, key := range keys {
		if !slices.Contains(parked, key) {
			require.Len(t, m.messages[fmt.Sprint("order ", i)], 1)
		}
	}
}

// I7: if copies are allowed, all copies are the same message.
func TestKilledMailersSendTheSameCopies(t *testing.T) {
	t.Parallel()
	const kills, concurrency = 4, 10
	const n = 4 * concurrency
	l, m := newScene(t, "email", ledger.AtLeastOnce), newMailbox(t)
	l.enqueue(t, n, func(i int) ledger.Request { return email(t, fmt.Sprint("order ", i)) })
	killMailers(t, l, m, ledger.AtLeastOnce, kills, concurrency)

	histogram := m.copies(t)
	t.Logf("%d kills; messages by copies: %v", kills, histogram)
	require.Len(t, l.inState(t, ledger.EffectDone), n)
	require.Len(t, m.messages, n, "every message arrived")
	require.Less(t, histogram[1], n, "no kill made a copy")
}
