package signin

import "time"

// Questions limits the requests to a provider.
type Questions struct{ of *questions }

// NewQuestions returns unused Questions.
func NewQuestions(now func() time.Time) Questions { return Questions{newQuestions(now)} }

// Allow calls allow for an unknown browser.
func (q Questions) Allow(remote string) bool { return q.of.allow(remote, false) }

// Proven calls proven.
func (q Questions) Proven(remote string) { q.of.proven(remote) }

// Patience is the default time limit of a call to Logins.
const Patience = patience

// SetPatience changes the time limit of calls to l.
func (l *Logins) SetPatience(d time.Duration) { l.patience = d }

// KnownBrowser returns the cookie of a browser with which a user has signed in.
func (g *Guard) KnownBrowser() (name, value string) {
	return g.knownCookie(), g.oidc.knownSince(g.opts.Now())
}
