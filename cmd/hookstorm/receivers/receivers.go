// Package receivers serves the destinations of a run of hookstorm. Its HTTP and SMTP servers handle
// each call as configured, apply each key once, and record every call.
package receivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Options configure Receivers.
type Options struct {
	// History gets a call for every request that arrived completely. Required.
	History *history.Writer
	// Seed decides the choices of Random and Hang.
	Seed int64
	// Destinations lists the destinations to serve. Defaults to the scenario's destinations.
	Destinations []scenario.Destination
	// Secrets contains the secrets (whsec_ and Base64) of destinations whose requests must have a
	// Standard Webhooks signature, by name. Other destinations need no signature.
	Secrets map[string]secret.Value
	// Slow is the delay of the behaviour Slow. Defaults to 300 ms.
	Slow time.Duration
}

// Receivers are the servers of a run. Their behaviour is OK until Behave changes it.
type Receivers struct {
	opts      Options
	desk      *desk
	behaviour *orders
	web       *http.Server
	mail      *smtp.Server
	webAddr   netip.AddrPort
	mailAddr  netip.AddrPort
	stopping  chan struct{} // closed by Stop, so that all waits end
	serving   sync.WaitGroup

	mu      sync.Mutex
	door    net.Listener // listener of the HTTP server; nil during an outage
	stopped bool
}

// New returns receivers, which Start starts.
func New(o Options) *Receivers {
	if o.Destinations == nil {
		o.Destinations = scenario.Destinations()
	}
	if o.Slow == 0 {
		o.Slow = 300 * time.Millisecond
	}
	r := &Receivers{opts: o, desk: newDesk(o.History), behaviour: newOrders(o.Destinations, o.Seed), stopping: make(chan struct{})}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // the servers log only cut calls
	r.web = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	r.mail = smtp.NewServer(mailbox{r})
	r.mail.Domain, r.mail.ErrorLog = "mx.example.com", quiet
	return r
}

// Start listens on free ports of loopback.
func (r *Receivers) Start(ctx context.Context) error {
	web, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for calls: %w", err)
	}
	mail, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("listen for mail: %w", err), web.Close())
	}
	r.webAddr, r.mailAddr = addressOf(web), addressOf(mail)
	r.open(web)
	r.serving.Go(func() { _ = r.mail.Serve(mail) }) // serves until Stop closes the listener
	r.serving.Go(func() {
		<-r.stopping
		_ = mail.Close() // if Stop is called immediately, the server does not have the listener yet
	})
	return nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

func addressOf(l net.Listener) netip.AddrPort { return l.Addr().(*net.TCPAddr).AddrPort() }

// URL returns the base URL of the HTTP destinations, to which their names are appended.
func (r *Receivers) URL() string { return "http://" + r.webAddr.String() }

// MailAddr returns the address of the mail server.
func (r *Receivers) MailAddr() netip.AddrPort { return r.mailAddr }

// Stop cuts the calls in progress and closes the servers. When it returns, the history contains
// the end of every call.
func (r *Receivers) Stop() {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		r.desk.close()
		close(r.stopping)
		_ = r.web.Close()  // the connections are closed even if Close fails
		_ = r.mail.Close() // the connections are closed even if Close fails
	}
	r.mu.Unlock()
	r.serving.Wait()
	r.desk.wait()
}
