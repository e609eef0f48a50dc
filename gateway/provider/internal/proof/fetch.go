package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/internal/strangers"
)

// Limits for fetches. The sender waits for our response during a fetch. If a fetch takes longer
// than a verification may take, the gateway asks the sender to retry. The fetch continues, and the
// next attempt finds the document in the cache.
const (
	FetchTimeout  = 5 * time.Second
	MaxFetched    = 256 << 10 // bytes; key sets and certificate chains take up a few kB
	maxFetching   = 16        // simultaneous fetches of uncached documents for one source; unknown senders may cause only a part of these
	maxKept       = 64        // cached documents; no genuine sender refers to more
	maxFetchedURL = 2048
)

var (
	errFetchBusy     = errors.New("too many fetches at the same time")
	errFetchTooLarge = errors.New("the document is larger than 256 KiB")
	// ErrNoDocument means that the sender has no document at a URL. If the URL came from a
	// request, callers refuse the request.
	ErrNoDocument = errors.New("the document does not exist")
)

// Fetcher gets the documents that a verification needs (certificates, key sets), and the URLs that
// a handshake asks us to call. It uses GET over https, and connects only to the sender's own hosts
// at public addresses. It follows no redirect and sends no credentials.
//
// It measures ages by this process's clock. Callers do not pass a time, because a quarantined
// delivery is verified at its time of arrival, which never advances.
type Fetcher struct {
	transport http.RoundTripper
	allows    func(host string) bool
	timeout   time.Duration // limits a fetch
	flights   singleflight.Group
	slots     chan struct{}
	strangers chan struct{} // fetches for unknown senders take one of these slots too
	// Budget limits how often URLs that unverified requests name are fetched. Nil: no limit,
	// because no URL comes from an unverified request.
	Budget *FetchBudget

	mu   sync.Mutex
	kept map[string]kept
}

// kept is a URL's cached state.
type kept struct {
	document  []byte // nil: never fetched
	fetchedAt time.Time
	triedAt   time.Time
	failure   error
	pinned    bool // true if the document has verified a request
}

const (
	// StaleFor is the age up to which a document is used while a new fetch runs, or after a new
	// fetch has failed.
	StaleFor = 24 * time.Hour
	// AfterFailure is the shortest time from a failed fetch of a document to the next fetch.
	AfterFailure = 2 * time.Second
)

// NewFetcher returns a fetcher for hosts. Each host is a name ("api.example.com"), or stands for
// all subdomains of a name ("*.example.com").
func NewFetcher(o provider.Options, hosts ...string) *Fetcher {
	return NewFetcherFor(o, func(host string) bool {
		for _, allowed := range hosts {
			if parent, below := strings.CutPrefix(allowed, "*"); host == allowed || below && strings.HasSuffix(host, parent) {
				return true
			}
		}
		return false
	})
}

// NewFetcherFor returns a fetcher for the hosts for which allows returns true. The host is passed
// in lower case and without port.
func NewFetcherFor(o provider.Options, allows func(host string) bool) *Fetcher {
	return &Fetcher{transport: TransportOf(o), allows: allows, timeout: FetchTimeout, slots: make(chan struct{}, maxFetching), strangers: make(chan struct{}, strangers.Part(maxFetching)), kept: map[string]kept{}}
}

// TransportOf returns the transport with which a provider queries its sender. It uses the options'
// transport if that is set. Otherwise it connects only to port 443 on public addresses and keeps no
// connections, because fetches are rare.
func TransportOf(o provider.Options) http.RoundTripper {
	if o.Fetch != nil {
		return roundtrip.Bounded(struct{ http.RoundTripper }{o.Fetch}) // wrapped, because Bounded would change the HTTP/2 settings of the caller's *http.Transport
	}
	return roundtrip.Bounded(&http.Transport{
		DialContext:            egress.Public("443").DialContext,
		DisableKeepAlives:      true,
		TLSHandshakeTimeout:    FetchTimeout,
		ResponseHeaderTimeout:  FetchTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	})
}

// Cached returns the document at rawURL. A document that was fetched less than ttl ago comes from
// the cache. An older document comes from the cache too, up to the age StaleFor, while Cached
// fetches a new one in the background. Otherwise Cached waits for a fetch, unless the budget is
// used up. A fetch that failed less than AfterFailure ago is not repeated. Errors: *VerifyError
// (foreign_url) if the URL is not the sender's; ErrNoDocument; any other error is our own or the
// network's fault.
//
// by is the client whose request needs the document. A fetch counts against this client's budget
// only if Cached waits for it and the document has not verified a request yet.
func (f *Fetcher) Cached(ctx context.Context, by Asker, rawURL string, ttl time.Duration) ([]byte, error) {
	k, err := f.look(rawURL)
	if err != nil {
		return nil, err
	}
	age, justFailed := time.Since(k.fetchedAt), k.failure != nil && time.Since(k.triedAt) < AfterFailure
	switch {
	case k.document != nil && age < ttl:
		return k.document, nil
	case k.document != nil && age < StaleFor:
		if !justFailed {
			f.flight(ctx, by, rawURL)
		}
		return k.document, nil
	case justFailed:
		return nil, k.failure
	case f.Budget != nil && !k.pinned && !f.Budget.Take(by):
		return nil, ErrFetchBudget
	}
	return wait(ctx, f.flight(ctx, by, rawURL))
}

// Proven marks a document that has verified a request. Such a document is evicted last, and its
// fetches do not count against the budget.
func (f *Fetcher) Proven(rawURL string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k, found := f.kept[rawURL]; found && !k.pinned {
		k.pinned = true
		f.kept[rawURL] = k
	}
}

// refreshed returns a document that was fetched less than ttl ago. If the cache has none, refreshed
// waits for a fetch, unless the previous fetch has just failed.
func (f *Fetcher) refreshed(ctx context.Context, rawURL string, ttl time.Duration) ([]byte, error) {
	k, err := f.look(rawURL)
	switch {
	case err != nil:
		return nil, err
	case k.document != nil && time.Since(k.fetchedAt) < ttl:
		return k.document, nil
	case k.failure != nil && time.Since(k.triedAt) < AfterFailure:
		return nil, k.failure
	}
	return wait(ctx, f.flight(ctx, ourselves, rawURL))
}

// Fetch gets rawURL, even if the cache has a document for this URL. A handshake uses Fetch to
// confirm a subscription. Errors: the same as from Cached.
func (f *Fetcher) Fetch(ctx context.Context, rawURL string) ([]byte, error) {
	if err := f.Allows(rawURL); err != nil {
		return nil, err
	}
	return wait(ctx, f.flight(ctx, ourselves, rawURL))
}

// Allows returns a *VerifyError for a URL that is not one of the sender's: the URL may come from an
// unverified request.
func (f *Fetcher) Allows(rawURL string) error {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil || len(rawURL) > maxFetchedURL:
		return &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "not a URL"}
	case u.Scheme != "https" || u.User != nil || u.Port() != "" && u.Port() != "443":
		return &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "not plain https"}
	case u.Host == "" || !f.allows(strings.ToLower(u.Hostname())):
		return &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "not a host of the sender"}
	}
	return nil
}

// IsDocument reports whether a URL consists only of https, a host in lower case, and a path that
// matches the given pattern. With a query or in another spelling, the same document would have a
// second URL.
func IsDocument(rawURL string, path *regexp.Regexp) bool {
	u, err := url.Parse(rawURL)
	return err == nil && path.MatchString(u.EscapedPath()) && !strings.ContainsAny(rawURL, "?#") &&
		u.Port() == "" && u.Host == strings.ToLower(u.Host) && strings.HasPrefix(rawURL, "https://")
}

// flight starts to fetch a URL or joins a running fetch. The fetch outlives a caller that
// stops waiting.
func (f *Fetcher) flight(ctx context.Context, by Asker, rawURL string) <-chan singleflight.Result {
	k, _ := f.look(rawURL)
	return f.flights.DoChan(rawURL, func() (any, error) {
		if k.document == nil { // unknown senders must not block the refresh of cached documents
			if !by.Known {
				if !take(f.strangers) {
					return nil, errFetchBusy
				}
				defer func() { <-f.strangers }()
			}
			if !take(f.slots) {
				return nil, errFetchBusy
			}
			defer func() { <-f.slots }()
		}
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.timeout)
		defer cancel()
		document, err := f.get(detached, rawURL)
		if err != nil {
			err = fmt.Errorf("fetch from the sender: %w", err)
		}
		f.keep(rawURL, document, err)
		return document, err
	})
}

// take takes a slot if one is free, and reports whether it did.
func take(slots chan<- struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func wait(ctx context.Context, result <-chan singleflight.Result) ([]byte, error) {
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.([]byte), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("fetch from the sender: %w", ctx.Err())
	}
}

func (f *Fetcher) get(ctx context.Context, rawURL string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "hooklatch")
	response, err := f.transport.RoundTrip(request) // follows no redirect
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone: // an object store that forbids listing answers 403 for a missing object
		return nil, fmt.Errorf("%w: status %d from %s", ErrNoDocument, response.StatusCode, request.URL.Hostname())
	default:
		return nil, fmt.Errorf("status %d from %s", response.StatusCode, request.URL.Hostname())
	}
	document, err := io.ReadAll(io.LimitReader(response.Body, MaxFetched+1))
	switch {
	case err != nil:
		return nil, err
	case len(document) > MaxFetched:
		return nil, errFetchTooLarge
	}
	return document, nil
}

// look returns a URL's cached state, or an error if the URL is not one of the sender's.
func (f *Fetcher) look(rawURL string) (kept, error) {
	if err := f.Allows(rawURL); err != nil {
		return kept{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept[rawURL], nil
}

// keep caches a fetch's result. If the cache is full, the least valuable entry is evicted: first a
// URL whose document was never fetched, then a document that has verified nothing. Among equals,
// the entry whose last fetch is the oldest is evicted.
func (f *Fetcher) keep(rawURL string, document []byte, err error) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.kept[rawURL]
	if k.triedAt, k.failure = now, err; err == nil {
		k.document, k.fetchedAt = document, now
	}
	f.kept[rawURL] = k
	if len(f.kept) <= maxKept {
		return
	}
	least := rawURL
	for other := range f.kept {
		if f.kept[other].worth() < f.kept[least].worth() ||
			f.kept[other].worth() == f.kept[least].worth() && f.kept[other].triedAt.Before(f.kept[least].triedAt) {
			least = other
		}
	}
	delete(f.kept, least)
}

func (k kept) worth() int {
	switch {
	case k.pinned:
		return 2
	case k.document != nil:
		return 1
	}
	return 0
}
