// Package admin serves operators on a separate listener: health, metrics and the console.
package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/internal/strangers"
)

// DefaultListen is the default of Options.Listen. It is a loopback address, so no token is needed.
const DefaultListen = "127.0.0.1:8081"

const defaultListenHint = "set admin.listen in the configuration"

// Limits of the listener. The write timeout is long enough for a slow Prometheus scrape.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 90 * time.Second
	strangerIdle      = 5 * time.Second
	maxHeaderBytes    = 16 << 10
)

// MaxConnections is the maximum number of open connections to the listener. Connections use
// descriptors and memory that a gateway in the same process needs.
const MaxConnections = 256

const (
	rememberedAddresses = 4096
	rememberedFor       = 24 * time.Hour
)

// Options configure an Admin.
type Options struct {
	// Listen is the TCP address for Start. Defaults to DefaultListen. An address other than a
	// loopback address needs a SignIn that requires authentication.
	Listen string
	// TLS makes Start serve HTTPS: HTTP/1.1 over TLS 1.2 or newer. If nil, Start serves plain HTTP.
	TLS *tls.Config
	// ListenHint tells the user, in the error about an address in use, how to change the address.
	// By default, it names admin.listen.
	ListenHint string
	// SignIn authenticates requests to all paths except /healthz, /readyz, the sign-in paths and
	// the static files. If nil, no authentication is required, and requests must use a loopback
	// host name.
	SignIn *signin.Guard

	// Ready returns an error if this process cannot do its work. /readyz calls Ready and waits at
	// most 2 seconds. If nil, the process is always ready.
	Ready func(ctx context.Context) error
	// Alive returns an error if the process must be restarted. /healthz calls it. If nil, the
	// process is always alive.
	Alive func() error
	// Warnings returns problems that do not stop this process's work; /readyz shows them to callers
	// with a token. If nil, there are no warnings.
	Warnings func() []string
	// Reloads describes the reloads of the process. /readyz shows the description to callers with a
	// token and, without the error, to callers on this machine. If nil, /readyz shows no reloads.
	Reloads func() Reloads
	// Metrics serves /metrics. If nil, the response is 404.
	Metrics http.Handler
	// Console serves the pages and the API, at all other paths. If nil, there is no console.
	Console http.Handler
	// ConsoleURL is the console URL for browsers, if it differs from the listener's address: forms
	// from that origin are accepted.
	ConsoleURL string
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
	// Now defaults to clock.Now.
	Now func() time.Time
}

// Admin is the admin listener. It is safe for concurrent use. Call Start only once.
type Admin struct {
	opts      Options
	handler   http.Handler
	origins   *http.CrossOriginProtection
	server    *http.Server
	probe     singleflight.Group
	readiness readiness

	connections *strangers.Connections
	known       *strangers.Known[netip.Prefix] // addresses of authenticated users and machines

	mu       sync.Mutex // guards listener and stopped
	listener net.Listener
	stopped  bool
	serving  sync.WaitGroup
}

// New validates opts and returns an Admin that does not listen yet.
func New(opts Options) (*Admin, error) {
	if opts.Listen == "" {
		opts.Listen = DefaultListen
	}
	if opts.ListenHint == "" {
		opts.ListenHint = defaultListenHint
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = clock.Now
	}
	if opts.SignIn == nil {
		var err error
		if opts.SignIn, err = signin.New(signin.Options{Logger: opts.Logger}); err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
	}
	host, _, err := net.SplitHostPort(opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin: address %q must be host:port: %w", opts.Listen, err)
	}
	if !opts.SignIn.Asks() && !loopback.Is(host) {
		return nil, fmt.Errorf("admin: address %q can be reached from other machines: set admin.token, or listen on %s", opts.Listen, DefaultListen)
	}
	origins, err := originsOf(opts.ConsoleURL)
	if err != nil {
		return nil, fmt.Errorf("admin: console URL: %w", err)
	}
	a := &Admin{
		opts:    opts,
		origins: origins,
	}
	a.known = strangers.NewKnown[netip.Prefix](rememberedAddresses, rememberedFor, opts.Now)
	a.connections = strangers.NewConnections(strangers.ConnectionOptions{
		Max: MaxConnections, Known: a.known.Has, Trusted: opts.SignIn.IsProxy, IdleTimeout: strangerIdle,
	})
	a.handler = a.routes()
	a.server = &http.Server{
		Handler:           a.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       strangers.ConnContext,
		ConnState:         strangers.Track,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	return a, nil
}

// Handler returns the handler for the whole listener.
func (a *Admin) Handler() http.Handler { return a.handler }

// entry is a path that the listener itself serves, with the required role.
type entry struct {
	signin.Route

	serve http.Handler
}

// entries returns the listener's own paths, except the probes, which are public.
func (a *Admin) entries() (list []entry) {
	if a.opts.Metrics != nil {
		list = append(list, entry{signin.Route{Pattern: "GET /metrics", Role: signin.Metrics}, a.opts.Metrics})
	}
	return list
}

// Routes returns the routes of the listener itself and of sign-in, without the console's routes.
func (a *Admin) Routes() []signin.Route {
	list := append(a.opts.SignIn.Routes(), signin.Route{Pattern: "GET /healthz", Open: true}, signin.Route{Pattern: "GET /readyz", Open: true})
	for _, e := range a.entries() {
		list = append(list, e.Route)
	}
	return list
}

// routes returns the listener's handler, which authenticates requests to all paths except the two
// probes, the sign-in paths and the static files. Of the handlers that are added to private, only
// those below /static/ can be reached without authentication.
func (a *Admin) routes() http.Handler {
	private := http.NewServeMux()
	for _, e := range a.entries() {
		private.Handle(e.Pattern, only(e.Role, e.serve))
	}
	if a.opts.Console != nil {
		private.Handle("/", a.opts.Console)
	}
	public := http.NewServeMux()
	public.HandleFunc("GET /healthz", a.healthz)
	public.HandleFunc("GET /readyz", a.readyz)
	public.Handle("/", a.opts.SignIn.Handler(a.acquainted(private)))
	return boundedBodies(secureHeaders(a.sameOrigin(public)))
}

// acquainted returns a handler that records the connections and addresses of authenticated users
// and machines. The listener reserves connections for these addresses.
func (a *Admin) acquainted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if person := signin.PersonOf(r.Context()); person.Role != "" {
			strangers.Proven(r.Context())
			if remote, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
				a.known.Note(strangers.Address(remote.Addr()))
			}
		}
		next.ServeHTTP(w, r)
	})
}

// only returns a handler that refuses callers without the needed role.
func only(needed signin.Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if person := signin.PersonOf(r.Context()); !person.Role.May(needed) {
			refuse(w, "this requires the role "+string(needed))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Start binds Options.Listen and serves until Stop. The error about an address in use names the
// address and says how to change it.
func (a *Admin) Start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
		return errors.New("admin: already stopped")
	case a.listener != nil:
		return errors.New("admin: already started")
	}
	listener, err := net.Listen("tcp", a.opts.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("admin: address %s is in use by another program: %s: %w", a.opts.Listen, a.opts.ListenHint, err)
	}
	if err != nil {
		return fmt.Errorf("admin: address %s: %w", a.opts.Listen, err)
	}
	listener = a.connections.Listener(listener)
	if a.opts.TLS != nil {
		listener = tls.NewListener(listener, a.opts.TLS)
	}
	a.listener = listener
	a.serving.Go(func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.opts.Logger.Error("admin stopped serving", slog.Any(logkey.Err, err))
		}
	})
	return nil
}

// Addr returns the address that Start bound, or nil before Start.
func (a *Admin) Addr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listener == nil {
		return nil
	}
	return a.listener.Addr()
}

// Stop closes the listener and waits for requests in flight. If ctx is done first, it closes their
// connections and returns an error. Stop may be called before Start, and more than once.
func (a *Admin) Stop(ctx context.Context) error {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop admin: %w", err), a.server.Close())
	}
	a.serving.Wait()
	return err
}
