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

// guessesASecond and guessesAtOnce limit the wrong tokens from one address.
const (
	guessesASecond = 1
	guessesAtOnce  = 10
)

// verdict is the result of authenticating a request with a token.
type verdict int

const (
	right verdict = iota
	wrong
	throttled
)

// Options configure a Guard. The zero Options require no authentication.
type Options struct {
	// Tokens are the tokens of machines and users. If no way to authenticate is configured, no
	// authentication is required. Then requests must use a loopback host name, so that no web site
	// can reach the listener through a browser.
	Tokens []Token
	// OIDC is a provider at which users sign in, or nil. It requires Logins, a ConsoleURL and
	// Roles.
	OIDC *OIDC
	// Proxy is a proxy that identifies users, or nil. It requires Roles.
	Proxy *Proxy
	// Roles assigns roles to users whom OIDC or Proxy identifies.
	Roles Conditions
	// Logins stores the signed-in users. If nil, users cannot sign in, and each request must carry
	// a token or come through Proxy.
	Logins *Logins
	// Page renders the sign-in page. If nil, the listener has no pages.
	Page func(w http.ResponseWriter, r *http.Request, p Page)
	// ConsoleURL is the URL at which users reach the console. If nil, they use the listener's
	// address.
	ConsoleURL *url.URL
	// TLS is true if the listener uses TLS.
	TLS bool
	// Logger defaults to a logger that discards everything. Unauthenticated clients can cause any
	// number of lines: see logqueue.Throttled.
	Logger *slog.Logger
	// Now defaults to clock.Now.
	Now func() time.Time
}

// Guard authenticates requests. It is safe for concurrent use and needs no shutdown.
type Guard struct {
	opts   Options
	logins *Logins // nil if users cannot sign in
	base   string  // path of Options.ConsoleURL
	secure bool    // if true, browsers use HTTPS
	asks   bool
	oidc   *relyingParty // nil if no provider is configured

	conditions compiled
	guesses    *paced
	tokens     atomic.Pointer[credentials] // current tokens
}

// New validates opts and returns a Guard.
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

// Asks reports whether authentication is required. If not, the listener accepts only requests whose
// Host is a loopback name or address.
func (g *Guard) Asks() bool { return g.asks }

// Secrets are the secrets for authentication, which may change while a process runs.
type Secrets struct {
	Tokens       []Token
	ClientSecret secret.Value // client secret of OIDC
}

// SetSecrets changes the accepted secrets. New decides whether authentication is required, and
// SetSecrets does not change this decision. If s has no tokens and there is no other way to
// authenticate, the current tokens stay valid.
func (g *Guard) SetSecrets(s Secrets) {
	if next := credentialsOf(s.Tokens); g.asks && (len(*next) > 0 || g.oidc != nil || g.opts.Proxy != nil) {
		g.tokens.Store(next)
	}
	if g.oidc != nil {
		g.oidc.secret.Store(&s.ClientSecret)
	}
}

// Handler returns a handler that passes authenticated requests to next, with the Person in the
// context: see PersonOf. If Options.Page is set, the handler also serves the sign-in paths, and
// passes requests for static files to next without authentication, because these files are the same
// for all users.
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
			refuse(w, http.StatusMisdirectedRequest, "without a sign-in, only requests to localhost are allowed: use localhost in the URL, or set admin.token")
			return
		}
		inside.ServeHTTP(w, r)
	})
}

// known returns a handler that passes only authenticated requests to next.
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

// serveSaid serves the user whom the proxy identifies, or refuses a user without a role.
func (g *Guard) serveSaid(w http.ResponseWriter, r *http.Request, claims map[string]any, next http.Handler) {
	name, _ := claims["user"].(string)
	person := Person{Name: name, Role: g.conditions.roleOf(claims), Way: WayProxy}
	if person.Role == "" {
		g.refuseRoleless(w, r, person)
		return
	}
	next.ServeHTTP(w, r.WithContext(WithPerson(r.Context(), person)))
}

// recall returns a cookie's login. A login ends when its basis changes, for example when its token
// is removed or replaced. If a token gets another role, users who signed in with it get that role
// too.
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

// Knows reports whether a request has a valid token, or no authentication is required. It does not
// use the database.
func (g *Guard) Knows(r *http.Request) bool {
	_, found := g.judge(r)
	return found == right
}

// judge authenticates a request by its token, or accepts it if no authentication is required.
func (g *Guard) judge(r *http.Request) (Person, verdict) {
	token, name := presented(r)
	if !g.asks {
		return Person{Name: nameOf(name), Role: Admin, Way: WayLoopback}, right
	}
	if token == "" {
		return Person{}, wrong // not a guess, so it does not count against its address
	}
	known, found := g.try(r, token)
	return g.tokens.Load().bearer(known, name), found
}

// try finds the given token. Wrong tokens are throttled by address. A valid token is never
// throttled: behind a proxy all clients have one address, and an attacker could otherwise lock out
// all users.
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

// refuse responds with a problem as JSON.
func refuse(w http.ResponseWriter, status int, text string) {
	_ = api.WriteProblem(w, api.Problem{Title: http.StatusText(status), Status: status, Detail: text}) // texts always encode
}
