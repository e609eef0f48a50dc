package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/rate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	// asWorker is the environment variable that makes the test binary run as a worker process. Its
	// value is the setting as JSON.
	asWorker        = "CRASHTEST_WORKER"
	destinationName = "app"
)

// Markers that a process prints, each followed by an idempotency key.
const (
	markBefore   = "before"   // the claim is committed, but the destination is not called yet
	markAnswered = "answered" // the destination was called and responded
)

// point is the position at which a worker process waits to be killed.
type point string

const (
	nowhere   point = ""
	beforeIt  point = "before"   // before the call
	afterSent point = "sent"     // after the request was sent, while the receiver holds its response
	answered  point = "answered" // after the response, before the outcome is settled
	settling  point = "settling" // while a batch of outcomes, released together, is settled
)

// setting configures a worker process.
type setting struct {
	DatabaseURL string
	URL         string        // URL of the HTTP receiver
	SMTPPort    int           // port of the SMTP server; if not 0, it is used instead of URL
	Timeout     time.Duration // timeout of a call; 0 for the default
	Policy      ledger.Policy
	Concurrency int
	Rate        float64
	Burst       int
	WaitAt      point
	Batch       int // number of outcomes that are settled together
}

// effectID returns the id of effect i of a test.
func effectID(i int) identity.EffectID {
	return identity.EffectID{Scope: identity.ScopeOfEnqueue(destinationName), Key: identity.Key(fmt.Sprintf("order_%04d", i)), Generation: 1}
}

// runWorker runs the worker process until a signal kills it or the parent process exits.
func runWorker(encoded string) {
	if err := startToWork(encoded); err != nil {
		fmt.Println(err) //nolint:forbidigo // the parent process reads it
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // wait until the parent exits
}

func startToWork(encoded string) error {
	var s setting
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		return err
	}
	pool, err := pgxpool.New(context.Background(), s.DatabaseURL)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	box, err := outbox.New(outbox.Options{Pool: pool, Logger: logger, AcceptTimeout: time.Minute})
	if err != nil {
		return err
	}
	var sender destination.Sender
	if s.SMTPPort != 0 {
		sender, err = destination.NewEmail(destination.EmailOptions{
			Name: destinationName, Host: "127.0.0.1", Port: s.SMTPPort, From: "shop@example.com", TLS: destination.TLSNone, Timeout: s.Timeout,
		})
	} else {
		sender, err = destination.NewHTTP(destination.HTTPOptions{Name: destinationName, URL: s.URL, Timeout: s.Timeout})
	}
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{
		Pool: pool, Outbox: box, Logger: logger,
		Destinations: []worker.DestinationOptions{{
			Name: destinationName, Sender: &waitingSender{Sender: sender, setting: s, full: make(chan struct{})},
			Policy: s.Policy, Concurrency: s.Concurrency, Rate: rate.PerSecond(s.Rate), Burst: s.Burst,
		}},
	})
	if err != nil {
		return err
	}
	return w.Start(context.Background())
}

// waitingSender wraps the real sender. It reports its progress to the parent, and waits to be
// killed at the point in the setting.
type waitingSender struct {
	destination.Sender
	setting

	calls, outcomes atomic.Int32
	full            chan struct{} // closed when a batch of outcomes is complete
	printing        sync.Mutex
}

// Send implements destination.Sender.
func (s *waitingSender) Send(ctx context.Context, e *ledger.Effect) destination.Outcome {
	s.mark(markBefore, e)
	if s.WaitAt == beforeIt || s.WaitAt == settling && int(s.calls.Add(1)) > s.Batch {
		select {}
	}
	out := s.Sender.Send(ctx, e)
	s.mark(markAnswered, e)
	switch s.WaitAt {
	case answered:
		select {}
	case settling:
		if int(s.outcomes.Add(1)) == s.Batch {
			close(s.full)
		}
		<-s.full
	case nowhere, beforeIt, afterSent:
	}
	return out
}

func (s *waitingSender) mark(marker string, e *ledger.Effect) {
	s.printing.Lock()
	defer s.printing.Unlock()
	fmt.Println(marker, e.IdempotencyKey) //nolint:forbidigo // the parent process reads it
}
