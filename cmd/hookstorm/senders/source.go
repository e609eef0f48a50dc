package senders

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

// usualDeadline is the time to wait for a response if the provider documents no deadline.
const usualDeadline = 10 * time.Second

// source is one endpoint with its senders.
type source struct {
	scenario.Source

	provider *provider.Provider
	deadline time.Duration   // maximum wait of a delivery, shortened by Options.Haste
	waits    []time.Duration // wait before each further attempt; the last wait applies to all later attempts; empty without retries
	weight   int             // share of the traffic, relative to the other sources
	seed     int64
	senders  []*sender

	mu       sync.Mutex
	accounts map[string]*account
	shared   [][]byte // items of earlier batches
	sharedID []string
	said     atomic.Int64 // number of events of shape Repeat; two share a body
}

// account is an object. Events report its changes.
type account struct {
	version  int64
	occurred time.Time
}

// sender is one sender of a source, with its own connections.
type sender struct {
	name   string
	client *http.Client
}

func newSource(given scenario.Source, firstSender int, o Options) (*source, error) {
	p, err := catalog.New(given.Provider, given.Options)
	if err != nil {
		return nil, fmt.Errorf("make its provider: %w", err)
	}
	s := &source{
		Source: given, provider: p, weight: cmp.Or(given.Weight, weightOf(given)), seed: o.Seed, accounts: make(map[string]*account),
		deadline: time.Duration(float64(cmp.Or(p.Deadline, usualDeadline)) / o.Haste),
	}
	for _, wait := range schedule(p) {
		s.waits = append(s.waits, min(time.Duration(float64(wait)/o.Compression), o.MaxWait))
	}
	for i := range o.SendersPerSource {
		s.senders = append(s.senders, &sender{name: fmt.Sprintf("sender-%d", firstSender+i), client: newClient()})
	}
	return s, nil
}

// schedule returns the waits before a provider's retries, as the provider documents them.
// Providers without a documented schedule follow the advice of Standard Webhooks.
func schedule(p *provider.Provider) []time.Duration {
	switch p.Name {
	case "github":
		return nil // only an operator redelivers
	case "slack":
		return []time.Duration{0, time.Minute, 5 * time.Minute, time.Hour}
	case "stripe":
		return []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 12 * time.Hour}
	}
	return []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour}
}

// weightOf returns the default weight of a source, which depends on its shape.
func weightOf(s scenario.Source) int {
	switch s.Shape {
	case scenario.Account:
		return 20
	case scenario.Sample:
		return 13
	case scenario.Batch, scenario.Poison:
		return 10
	}
	return 1
}

func newClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     10 * time.Second,
		},
	}
}

// retries reports whether the senders retry automatically.
func (s *source) retries() bool { return len(s.waits) > 0 }

func (s *source) hangUp() {
	for _, each := range s.senders {
		each.client.CloseIdleConnections()
	}
}
