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
	// questionsASecond and questionsAtOnce bound what a provider is asked for strangers,
	// and as much again for addresses where somebody has signed in before.
	questionsASecond = 2
	questionsAtOnce  = 20
	// ofAddress and ofAddressAtOnce bound what it is asked for one address.
	ofAddress       = rate.Limit(0.2)
	ofAddressAtOnce = 5
	// provedFor is how long an address stays known.
	provedFor = 30 * 24 * time.Hour
	// discoverAgain is how long a provider that did not answer is left alone.
	discoverAgain = 5 * time.Second
)

// questions bounds how often strangers can make us ask the provider, which has limits of
// its own: nobody could sign in any more. A part of them is for known addresses.
type questions struct {
	now              func() time.Time
	each             *paced
	strangers, known *rate.Limiter
	proved           *strangers.Known[netip.Prefix]
}

func newQuestions(now func() time.Time) *questions {
	return &questions{
		now: now, each: newPaced(now, ofAddress, ofAddressAtOnce), proved: strangers.NewKnown[netip.Prefix](maxAddresses, provedFor, now),
		strangers: rate.NewLimiter(questionsASecond, questionsAtOnce), known: rate.NewLimiter(questionsASecond, questionsAtOnce),
	}
}

// allow takes note of a question for an address, and tells whether it may be asked.
func (q *questions) allow(remote string) bool {
	if q.proved.Has(addressOf(remote)) {
		return q.known.AllowN(q.now(), 1)
	}
	return q.each.allow(remote) && q.strangers.AllowN(q.now(), 1)
}

// proven takes note that the provider knew somebody at an address.
func (q *questions) proven(remote string) { q.proved.Note(addressOf(remote)) }

// discovery finds the addresses of a provider. One request at a time asks for them.
type discovery struct {
	now func() time.Time

	mu     sync.Mutex
	found  *discovered // nil until the provider has answered
	failed time.Time
	err    error // of failed
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
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		d.failed, d.err = d.now(), err
		return nil, err
	}
	d.found = &discovered{provider, provider.Endpoint()}
	d.found.endpoint.AuthStyle = authStyle(provider)
	return d.found, nil
}

// authStyle is how we show our client secret. Without it each refused code is asked about
// twice. The default is that of OpenID Connect Discovery 1.0, section 3.
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
