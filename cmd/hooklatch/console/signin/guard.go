package signin

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/loopback"
	"github.com/hooklatch/hooklatch/outbox/clock"
	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
)

// Options configure a Guard. The zero Options ask for nothing.
type Options struct {
	// Tokens are those that machines and people may carry. Without any way to sign in
	// nothing is asked for, and only requests to a loopback host name are answered, so
	// that no web site can reach the listener through a browser.
	Tokens []Token
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to that of package clock.
	Now func() time.Time
}

// Guard finds out who asks. It is safe for concurrent use, and has nothing to stop.
type Guard struct {
	opts     Options
	asks     bool
	guesses  *guesses
	tokens   atomic.Pointer[credentials] // in effect
	failures *rate.Limiter
}

// New returns a Guard.
func New(opts Options) *Guard {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = clock.Now
	}
	g := &Guard{
		opts:     opts,
		guesses:  newGuesses(opts.Now),
		failures: rate.NewLimiter(1, 10), // log lines a second, and at once
	}
	tokens := credentialsOf(opts.Tokens)
	g.asks = len(*tokens) > 0
	g.tokens.Store(tokens)
	return g
}

// Asks reports whether anything is asked for. Without it the listener is for this machine
// only.
func (g *Guard) Asks() bool { return g.asks }

// SetTokens changes which tokens are taken from now on. Whether any are asked for is fixed
// by New.
func (g *Guard) SetTokens(tokens []Token) {
	if next := credentialsOf(tokens); g.asks && len(*next) > 0 {
		g.tokens.Store(next)
	}
}

// Handler lets those through who are known, and tells next who they are: see PersonOf.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.asks && !loopback.Called(r) {
			refuse(w, http.StatusMisdirectedRequest, "call this address as localhost, or set admin.token")
			return
		}
		switch person, found := g.judge(r); found {
		case right:
			next.ServeHTTP(w, r.WithContext(WithPerson(r.Context(), person)))
		case throttled:
			w.Header().Set("Retry-After", "10")
			refuse(w, http.StatusTooManyRequests, "too many wrong tokens from this address, try again later")
		case wrong:
			w.Header().Set("WWW-Authenticate", `Basic realm="hooklatch", charset="UTF-8"`)
			refuse(w, http.StatusUnauthorized, "unauthorized")
		}
	})
}

// Knows reports whether the bearer of a token asks, or anybody where none is asked for. It
// asks no database.
func (g *Guard) Knows(r *http.Request) bool {
	_, found := g.judge(r)
	return found == right
}

// judge finds out who asks: the bearer of a token, or anybody where none is asked for.
func (g *Guard) judge(r *http.Request) (Person, verdict) {
	token, name := presented(r)
	if !g.asks {
		return Person{Name: nameOf(name), Role: Admin, Way: WayLoopback}, right
	}
	if token == "" {
		return Person{}, wrong // no guess, and costs its address nothing
	}
	known, found := g.try(r, token)
	return known.bearer(name), found
}

// try looks whose token one is, unless the address has guessed too often.
func (g *Guard) try(r *http.Request, given string) (known Token, found verdict) {
	found = g.guesses.judge(r.RemoteAddr, func() (is bool) {
		known, is = g.tokens.Load().find(given)
		return is
	})
	if found != right && g.failures.Allow() {
		g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "admin request refused",
			slog.String(logkey.Reason, "wrong_token"), slog.String(logkey.Remote, r.RemoteAddr))
	}
	return known, found
}

// refuse answers programs.
func refuse(w http.ResponseWriter, status int, text string) {
	body, _ := plainjson.Marshal(struct { // a text never fails
		Error string `json:"error"`
	}{text})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
