package signin

import (
	"crypto/hmac"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// How fast one address may be wrong about the token.
const (
	guessesASecond = 1
	guessesAtOnce  = 10
)

// verdict is the answer to a request with a token.
type verdict int

const (
	right verdict = iota
	wrong
	throttled
)

// Options configure a Guard. The zero Options ask for nothing.
type Options struct {
	// Tokens are those that machines and people may carry. Without any way to sign in
	// nothing is asked for, and only requests to a loopback host name are answered, so
	// that no web site can reach the listener through a browser.
	Tokens []Token
	// OIDC is a provider that people sign in at. Nil: there is none. It needs Logins, a
	// ConsoleURL and Roles.
	OIDC *OIDC
	// Proxy is one that says who asks. Nil: there is none. It needs Roles.
	Proxy *Proxy
	// Roles are what people whom OIDC or a Proxy names may do.
	Roles Conditions
	// Logins keep who is signed in. Nil: nobody can sign in, and each request carries a
	// token.
	Logins *Logins
	// Page renders what whoever is not known is shown. Nil: there are no pages.
	Page func(w http.ResponseWriter, r *http.Request, p Page)
	// ConsoleURL is where people reach the console. Nil: at the listener itself.
	ConsoleURL *url.URL
	// TLS says that the listener speaks it.
	TLS bool
	// Logger defaults to one that discards. Strangers can cause lines as often as they
	// like: see logqueue.Throttled.
	Logger *slog.Logger
	// Now defaults to that of package clock.
	Now func() time.Time
}

// Guard finds out who asks. It is safe for concurrent use, and has nothing to stop.
type Guard struct {
	opts   Options
	logins *Logins // nil: there are none
	base   string  // path of Options.ConsoleURL
	secure bool    // browsers come over HTTPS
	asks   bool
	oidc   *relyingParty // nil: there is none

	conditions compiled
	guesses    *paced
	tokens     atomic.Pointer[credentials] // in effect
}

// New checks opts and returns a Guard.
func New(opts Options) (*Guard, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = clock.Now
	}
	g := &Guard{
		opts:    opts,
		logins:  opts.Logins,
		secure:  opts.TLS,
		guesses: newPaced(opts.Now, guessesASecond, guessesAtOnce),
	}
	if opts.ConsoleURL != nil {
		g.base, g.secure = BaseOf(opts.ConsoleURL), g.secure || opts.ConsoleURL.Scheme == "https"
	}
	var err error
	if opts.OIDC != nil || opts.Proxy != nil {
		if g.conditions, err = opts.Roles.compile(); err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
	}
	if opts.OIDC != nil {
		if g.oidc, err = newRelyingParty(*opts.OIDC, opts.ConsoleURL, opts.Now); err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
	}
	tokens := credentialsOf(opts.Tokens)
	g.asks = len(*tokens) > 0 || opts.OIDC != nil || opts.Proxy != nil
	g.tokens.Store(tokens)
	return g, nil
}

// Asks reports whether anything is asked for. Without it the listener is for this machine
// only.
func (g *Guard) Asks() bool { return g.asks }

// Secrets are what people and machines are known by, and what may change while a process
// runs.
type Secrets struct {
	Tokens       []Token
	ClientSecret secret.Value // of OIDC
}

// SetSecrets changes what is taken from now on. Whether anything is asked for is fixed by
// New.
func (g *Guard) SetSecrets(s Secrets) {
	if next := credentialsOf(s.Tokens); g.asks && (len(*next) > 0 || g.oidc != nil || g.opts.Proxy != nil) {
		g.tokens.Store(next)
	}
	if g.oidc != nil {
		g.oidc.secret.Store(&s.ClientSecret)
	}
}

// Handler lets those through who are known, and tells next who they are: see PersonOf.
// What pages are made of, which is the same for all, is for everybody.
func (g *Guard) Handler(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	if g.opts.Page != nil {
		for pattern, serve := range g.own() {
			mux.HandleFunc(pattern, serve)
		}
		mux.Handle("GET /static/", next)
	}
	mux.Handle("/", g.known(next))
	inside := AtBase(g.base, mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.asks && !loopback.Called(r) {
			refuse(w, http.StatusMisdirectedRequest, "call this address as localhost, or set admin.token")
			return
		}
		inside.ServeHTTP(w, r)
	})
}

// known lets those through who are.
func (g *Guard) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if claims, said := g.opts.Proxy.said(r); said {
			g.serveSaid(w, r, claims, next)
			return
		}
		person, found := g.judge(r)
		if cookie := g.cookieOf(r); found == wrong && g.logins != nil && cookie != "" && r.Header.Get("Authorization") == "" {
			of, signedIn, err := g.recall(r, cookie)
			if err != nil {
				g.away(w, r, err)
				return
			}
			if signedIn {
				person, found = of.Person, right
			}
		}
		switch found {
		case right:
			next.ServeHTTP(w, r.WithContext(WithPerson(r.Context(), person)))
		case throttled:
			w.Header().Set("Retry-After", "10")
			refuse(w, http.StatusTooManyRequests, "too many wrong tokens from this address: try again later")
		case wrong:
			g.notKnown(w, r)
		}
	})
}

// serveSaid serves whom the proxy names.
func (g *Guard) serveSaid(w http.ResponseWriter, r *http.Request, claims map[string]any, next http.Handler) {
	name, _ := claims["user"].(string)
	person := Person{Name: name, Role: g.conditions.roleOf(claims), Way: WayProxy}
	if person.Role == "" {
		g.refuseRoleless(w, r, person)
		return
	}
	next.ServeHTTP(w, r.WithContext(WithPerson(r.Context(), person)))
}

// recall is who signed in with a cookie. The login is over when what it relies on is no
// longer as it was: its token was taken away or replaced. A token that has got another
// role gives it to those who are signed in by it.
func (g *Guard) recall(r *http.Request, cookie string) (login, bool, error) {
	found, ok, err := g.logins.find(r.Context(), cookie)
	if err != nil || !ok {
		return login{}, false, err
	}
	reliesOn := func(secret string) bool {
		return hmac.Equal(basisOf(cookie, found.Person, found.token, secret), found.basis)
	}
	switch found.Way {
	case WayOIDC:
		if g.oidc != nil && reliesOn(g.oidcBasis()) {
			return found, true, nil
		}
	case WayToken:
		for _, one := range *g.tokens.Load() {
			if one.Name == found.token && reliesOn(one.Secret.Reveal()) {
				found.Role = one.Role
				return found, true, nil
			}
		}
	}
	return login{}, false, g.logins.end(r.Context(), cookie)
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
	return g.tokens.Load().bearer(known, name), found
}

// try looks whose token one is. Wrong tokens are throttled by the address they come from.
// A right token is never held up: behind a proxy all have one address, and a stranger could
// lock everybody out.
func (g *Guard) try(r *http.Request, given string) (Token, verdict) {
	if known, is := g.tokens.Load().find(given); is {
		return known, right
	}
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "admin request refused",
		slog.String(logkey.Reason, "wrong_token"), slog.String(logkey.Remote, r.RemoteAddr))
	if !g.guesses.allow(r.RemoteAddr) {
		return Token{}, throttled
	}
	return Token{}, wrong
}

// refuse answers programs.
func refuse(w http.ResponseWriter, status int, text string) {
	_ = api.WriteProblem(w, api.Problem{Title: http.StatusText(status), Status: status, Detail: text}) // texts encode
}
