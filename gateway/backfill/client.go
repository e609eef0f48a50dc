package backfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

const (
	// maxAnswer limits one response, in bytes: a page of complete events, or a single very
	// large event.
	maxAnswer = 64 << 20
	// requestTimeout limits one request including its response.
	requestTimeout = time.Minute
	// usualPause is the pause if the provider asks for one without giving its length. longestPause
	// is the maximum length of any pause.
	usualPause   = time.Minute
	longestPause = 6 * time.Hour
)

// throttledError is returned when the provider asks for a pause, and for each call during the
// pause.
type throttledError struct{ after time.Duration }

func (e *throttledError) Error() string {
	return fmt.Sprintf("the provider asked for a pause of %s", e.after.Round(time.Second))
}

// statusError is returned for a response that is not 2xx.
type statusError struct {
	status        int
	about         string
	needs, scopes string // the rights that the token needs and the scopes it has; empty: unknown
}

func (e *statusError) Error() string {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("%s: the token was refused (%d): it has expired, lacks a permission, or belongs to another account%s", e.about, e.status, e.rights())
	case http.StatusNotFound:
		return fmt.Sprintf("%s: not found (404): the token belongs to another account or mode, or lacks a permission, or the endpoint is wrong%s", e.about, e.rights())
	}
	return fmt.Sprintf("%s: answered %d", e.about, e.status)
}

// rights describes the token's scopes and the rights that the token needs, if the provider names
// the scopes.
func (e *statusError) rights() string {
	if e.scopes == "" {
		return ""
	}
	return "; the token has the scopes " + e.scopes + " and needs: " + strings.TrimSuffix(e.needs, ".")
}

// clients holds the HTTP clients for the providers' APIs. Sources with the same credential, base
// URL and rate share a client and its rate limit.
type clients struct {
	mu     sync.Mutex
	byName map[string]*client
}

type client struct {
	http  *http.Client
	limit *rate.Limiter
	until atomic.Pointer[time.Time] // the end of a pause that the provider asked for; nil: none
}

// pause returns the remaining time of a pause that the provider asked for, or 0.
func (c *client) pause() time.Duration {
	until := c.until.Load()
	if until == nil {
		return 0
	}
	return max(time.Until(*until), 0)
}

// clientName returns the name under which clients holds the client for the settings.
func (s Settings) clientName() string {
	return s.BaseURL + "\x00" + s.Token.Reveal() + "\x00" + s.Rate.String()
}

// keep drops the clients that no source uses any more, because each client keeps its token in
// memory. A pass that is still using a dropped client can finish with it.
func (c *clients) keep(sources []Source) {
	used := map[string]bool{}
	for _, s := range sources {
		used[s.Settings.clientName()] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, made := range c.byName {
		if !used[name] {
			made.http.CloseIdleConnections()
			delete(c.byName, name)
		}
	}
}

func (c *clients) of(s Settings) (*client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := s.clientName()
	if made := c.byName[name]; made != nil {
		return made, nil
	}
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	guard, err := egress.New(egress.Options{Host: base.Hostname(), Port: portOf(base), AllowPrivate: s.private()})
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	made := &client{
		http: &http.Client{
			Transport:     roundtrip.Bounded(&http.Transport{DialContext: guard.DialContext, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 1}),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		// The limiter allows no burst, because no sender waits for a pass.
		limit: rate.NewLimiter(rate.Limit(s.Rate), 1),
	}
	if c.byName == nil {
		c.byName = map[string]*client{}
	}
	c.byName[name] = made
	return made, nil
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// private returns the private networks that a base_url set by the operator may reach, or nil for
// the provider's own base URL.
func (s Settings) private() []netip.Prefix {
	if s.List != nil && s.BaseURL == s.List.Base {
		return nil
	}
	return []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7"),
	}
}

// answer is a response from the API: valid JSON, or an empty body.
type answer struct {
	body   gjson.Result
	header http.Header
}

// call makes one API request. The token is sent only to the host in base_url. During a pause that
// the provider asked for, call makes no request.
func (p *pass) call(ctx context.Context, method, address string) (answer, error) {
	if rest := p.client.pause(); rest > 0 {
		return answer{}, &throttledError{after: rest}
	}
	if err := p.client.limit.Wait(ctx); err != nil {
		return answer{}, errBudget
	}
	p.run.Requests++
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	base := p.source.Settings.BaseURL
	target, err := url.Parse(address)
	if err != nil || !target.IsAbs() {
		target, err = url.Parse(strings.TrimSuffix(base, "/") + address)
	}
	if err != nil {
		return answer{}, fmt.Errorf("the list contains an invalid URL: %w", err)
	}
	if home, err := url.Parse(base); err != nil || target.Scheme != home.Scheme || target.Host != home.Host {
		return answer{}, fmt.Errorf("the list links to %s://%s, but the token is sent only to %s", target.Scheme, target.Host, base)
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), http.NoBody)
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	if err := p.authorize(request); err != nil {
		return answer{}, err
	}
	began := time.Now()
	got, err := p.send(request)
	if waited := time.Since(began); errors.Is(err, context.DeadlineExceeded) && waited >= min(requestTimeout, p.b.opts.Budget/2) {
		return answer{}, fmt.Errorf("%s %s: no response within %s", method, target.Path, waited.Round(time.Second)) // the provider failed; the pass did not use up its time
	}
	return got, err
}

// send sends a request and reads the response.
func (p *pass) send(request *http.Request) (answer, error) {
	about := request.Method + " " + request.URL.Path
	response, err := p.client.http.Do(request)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err // drop the URL, which may contain a cursor
		}
		return answer{}, fmt.Errorf("%s: %w", about, err)
	}
	defer response.Body.Close()
	p.b.meters.requests.Add(request.Context(), 1, p.attributes(response.StatusCode))
	got, err := read(response, about)
	if throttled, is := errors.AsType[*throttledError](err); is {
		until := time.Now().Add(throttled.after)
		p.client.until.Store(&until)
	}
	if refusal, is := errors.AsType[*statusError](err); is && p.list.Scopes != "" {
		refusal.needs, refusal.scopes = p.list.Rights, safetext.Excerpt(response.Header.Get(p.list.Scopes), 200)
	}
	return got, err
}

func (p *pass) authorize(request *http.Request) error {
	token := p.source.Settings.Token.Reveal()
	if p.source.Settings.App != "" {
		var err error
		if token, err = appToken(p.source.Settings.App, token, p.row.Now.Add(time.Since(p.began))); err != nil {
			return err
		}
	}
	name, text, _ := strings.Cut(p.list.Credential, ":")
	request.Header.Set(name, strings.ReplaceAll(strings.TrimSpace(text), "{token}", token))
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "hooklatch")
	for name, value := range p.list.Headers {
		request.Header.Set(name, value)
	}
	if p.list.Account != "" && p.row.Name != "" && request.Context().Value(accountKey{}) == nil {
		request.Header.Set(p.list.Account, p.row.Name)
	}
	return nil
}

// read reads a complete response. Its errors do not quote the body.
func read(response *http.Response, about string) (answer, error) {
	if after, wanted := pauseOf(response); wanted {
		return answer{}, &throttledError{after: after}
	}
	if response.StatusCode < http.StatusOK || response.StatusCode > 299 {
		return answer{}, &statusError{status: response.StatusCode, about: about}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("%s: read: %w", about, err)
	case len(body) > maxAnswer:
		return answer{}, fmt.Errorf("%s: the response is larger than %d MiB", about, maxAnswer>>20)
	case len(strings.TrimSpace(string(body))) == 0:
		return answer{header: response.Header}, nil
	case !gjson.ValidBytes(body):
		kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
		if err != nil {
			kind = "no content type"
		}
		return answer{}, fmt.Errorf("%s: the response is not JSON (%s)", about, safetext.Excerpt(kind, 100))
	}
	return answer{body: gjson.ParseBytes(body), header: response.Header}, nil
}

// pauseOf returns the pause that the provider asks for, if any.
func pauseOf(response *http.Response) (time.Duration, bool) {
	h := response.Header
	limited := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable && h.Get("Retry-After") != "" ||
		response.StatusCode == http.StatusForbidden && (h.Get("X-RateLimit-Remaining") == "0" || h.Get("Retry-After") != "")
	if !limited {
		return 0, false
	}
	pause := usualPause
	if text := h.Get("Retry-After"); text != "" {
		if seconds, err := strconv.Atoi(text); err == nil {
			pause = time.Duration(min(max(seconds, 0), int(longestPause/time.Second))) * time.Second
		} else if at, err := http.ParseTime(text); err == nil {
			pause = time.Until(at)
		}
	} else {
		for _, name := range []string{"X-RateLimit-Reset", "X-Rate-Limit-Reset"} {
			if at, err := strconv.ParseInt(h.Get(name), 10, 64); err == nil {
				pause = time.Until(time.Unix(at, 0))
			}
		}
	}
	return min(max(pause, time.Second), longestPause), true
}
