package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// callTimeout is the maximum time of one request. The console itself answers within ten
	// seconds.
	callTimeout = 15 * time.Second
	// maxConns is the maximum number of simultaneous requests, however many calls a client makes.
	maxConns = 4
	// maxDocument is the maximum size of the console's document, in bytes.
	maxDocument = 8 << 20
	// maxProblem is the maximum number of bytes read from an error response.
	maxProblem = 16 << 10
	// maxQuoted is the maximum number of bytes of a text that an error quotes.
	maxQuoted = 200
)

// client calls the API of one console.
type client struct {
	base    string // URL without a trailing slash
	origin  string // scheme and host
	token   secret.Value
	name    string // name in the operator log of a console that requires no token
	agent   string
	console *http.Client
}

func newClient(opts Options) *client {
	return &client{
		base: strings.TrimSuffix(opts.URL.String(), "/"), origin: opts.URL.Scheme + "://" + opts.URL.Host,
		token: opts.Token, name: opts.Name, agent: "hooklatch-mcp/" + opts.Version,
		console: &http.Client{
			// A redirect would send the token to another address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: roundtrip.Bounded(&http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxConnsPerHost: maxConns, MaxIdleConnsPerHost: maxConns, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
			}),
		},
	}
}

// ask sends a request: a POST if there is a body. The caller closes the response's body. Errors are
// for the client, and include every response that is not a success.
func (c *client) ask(ctx context.Context, target string, body []byte) (*http.Response, error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, application/octet-stream, application/problem+json")
	r.Header.Set("User-Agent", c.agent)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token.IsZero() {
		r.SetBasicAuth(c.name, "")
		r.Header.Set("Origin", c.origin) // the console requires an origin for a change without a token
	} else {
		r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	response, err := c.console.Do(r)
	if err != nil {
		return nil, c.unanswered(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	return nil, c.refused(response)
}

// unanswered returns the error for a request without a response.
func (c *client) unanswered(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("the call was cancelled")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the console at %s did not answer within %s", c.base, callTimeout)
	}
	if sent, is := errors.AsType[*url.Error](err); is {
		err = sent.Err // the outer error also quotes the whole URL
	}
	return fmt.Errorf("the console at %s does not answer: %w", c.base, err)
}

// refused returns an error with the console's text from a response. If the response is not in
// Hooklatch's error format, the error says so.
func (c *client) refused(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxProblem)) // a part suffices for an error
	var p api.Problem
	if response.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(text, &p) != nil {
		return fmt.Errorf("the console at %s answered %d %s, which is not Hooklatch's error format: check that this is the console's URL",
			c.base, response.StatusCode, http.StatusText(response.StatusCode))
	}
	said := fmt.Sprintf("%s (%d). %s", p.Title, p.Status, p.Detail)
	if p.Command != "" {
		said += " Command: " + p.Command
	}
	if p.RequestID != "" {
		said += " Request id: " + p.RequestID
	}
	return errors.New(said)
}

// document reads the console's OpenAPI document.
func (c *client) document(ctx context.Context) (*document, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := c.ask(ctx, documentPath, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	if err != nil {
		return nil, c.unanswered(err)
	}
	d, err := readDocument(text)
	if err != nil {
		return nil, fmt.Errorf("the response of %s%s cannot be used: %w", c.base, documentPath, err)
	}
	return d, nil
}

func (c *client) close() { c.console.CloseIdleConnections() }

// cutName shortens a text from the client, so that an error can quote it.
func cutName(text string) string { return safetext.Line(text, maxQuoted) }
