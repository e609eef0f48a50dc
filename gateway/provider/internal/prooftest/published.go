package prooftest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// Published maps URLs to documents. As a transport, it responds with the document of the requested
// URL, or with 404 if it has none.
type Published map[string][]byte

// RoundTrip implements http.RoundTripper.
func (p Published) RoundTrip(r *http.Request) (*http.Response, error) {
	document, ok := p[r.URL.String()]
	status := http.StatusOK
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader(document)), Header: http.Header{}, Request: r}, nil
}

// PublishedKeys returns a function that publishes the public halves of the tests' keys at a URL.
func PublishedKeys(rawURL string) func() Published {
	return func() Published { return Published{rawURL: KeySet(RSAKey(), ECDSAKey(), Ed25519Key())} }
}

// Counted is Published with a count of the fetches of each URL.
type Counted struct {
	Published

	Fetched map[string]int
}

// RoundTrip implements http.RoundTripper. It is not safe for concurrent use.
func (c Counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.Fetched[r.URL.String()]++
	return c.Published.RoundTrip(r)
}

// Total returns the number of fetches of all documents.
func (c Counted) Total() int {
	n := 0
	for _, times := range c.Fetched {
		n += times
	}
	return n
}

// Answers is a sender without a network, for tests in a synctest bubble. If a goroutine waited for
// a real connection, the bubble's clock would stand still.
type Answers struct {
	Requests atomic.Int64
	respond  atomic.Pointer[http.HandlerFunc]
}

// NewAnswers returns a sender that responds to every request with respond.
func NewAnswers(respond http.HandlerFunc) *Answers {
	a := &Answers{}
	a.Answer(respond)
	return a
}

// Answer changes how the sender responds from now on.
func (a *Answers) Answer(respond http.HandlerFunc) { a.respond.Store(&respond) }

// RoundTrip implements http.RoundTripper.
func (a *Answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.Requests.Add(1)
	recorder := httptest.NewRecorder()
	(*a.respond.Load())(recorder, r)
	response := recorder.Result()
	response.Request = r
	return response, nil
}
