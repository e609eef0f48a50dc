package signin

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

const (
	// questionsASecond and questionsAtOnce limit the requests to a provider in each of three
	// groups: for unknown addresses, for known addresses, and for known browsers. An address or a
	// browser is known after a user has signed in with it.
	questionsASecond = 2
	questionsAtOnce  = 20
	// ofAddress and ofAddressAtOnce limit the requests for each unknown address.
	ofAddress       = rate.Limit(0.2)
	ofAddressAtOnce = 5
	// provedFor is how long a browser stays known. An address stays known for at least this long,
	// unless more than maxAddresses newer addresses displace it.
	provedFor = 30 * 24 * time.Hour
	// discoverAgain is the minimum time before a provider that failed is queried again.
	discoverAgain = 5 * time.Second
)

// questions limits how often unauthenticated clients can cause requests to the provider. The
// provider has its own limits, beyond which no user could sign in. Some of the requests are
// reserved for known addresses. Others are reserved for known browsers, because behind a proxy all
// clients may have one address.
type questions struct {
	now                        func() time.Time
	each                       *paced
	strangers, known, browsers *rate.Limiter
	proved                     *strangers.Known[netip.Prefix]
}

func newQuestions(now func() time.Time) *questions {
	return &questions{
		now: now, each: newPaced(now, ofAddress, ofAddressAtOnce), proved: strangers.NewKnown[netip.Prefix](maxAddresses, provedFor, now),
		strangers: rate.NewLimiter(questionsASecond, questionsAtOnce), known: rate.NewLimiter(questionsASecond, questionsAtOnce),
		browsers: rate.NewLimiter(questionsASecond, questionsAtOnce),
	}
}

// allow records a request for an address, and reports whether it is within the limits. knownBrowser
// is true if a user has signed in with this browser before.
func (q *questions) allow(remote string, knownBrowser bool) bool {
	if knownBrowser && q.browsers.AllowN(q.now(), 1) {
		return true
	}
	if q.proved.Has(addressOf(remote)) {
		return q.known.AllowN(q.now(), 1)
	}
	return q.each.allow(remote) && q.strangers.AllowN(q.now(), 1)
}

// proven records that the provider authenticated a user at an address.
func (q *questions) proven(remote string) { q.proved.Note(addressOf(remote)) }

// discovery gets a provider's endpoints, with one request at a time.
type discovery struct {
	now func() time.Time

	mu     sync.Mutex
	found  *discovered // nil until the provider has responded
	failed time.Time
	err    error // the last failure, at the time failed; nil if there was none
}

type discovered struct {
	*oidc.Provider

	endpoint oauth2.Endpoint
}

func (d *discovery) get(ctx context.Context, issuer string) (*discovered, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found != nil {
		return d.found, nil
	}
	if d.err != nil && d.now().Sub(d.failed) < discoverAgain {
		return nil, d.err
	}
	// All waiting callers get the result, even if the caller that sends the request disconnects.
	provider, err := oidc.NewProvider(context.WithoutCancel(ctx), issuer)
	if err != nil {
		d.failed, d.err = d.now(), err
		return nil, err
	}
	d.found = &discovered{provider, provider.Endpoint()}
	d.found.endpoint.AuthStyle = authStyle(provider)
	return d.found, nil
}

// authStyle returns how the client secret is sent. If the style were unknown, the library would
// send each refused code twice. The default is from OpenID Connect Discovery 1.0, section 3.
func authStyle(provider *oidc.Provider) oauth2.AuthStyle {
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	err := provider.Claims(&says)
	if err != nil || len(says.Methods) == 0 || slices.Contains(says.Methods, "client_secret_basic") {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}
