package sweep

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/gateway"
)

const (
	// patience is what a sender waits for an answer.
	patience = 5 * time.Second
	// again is when it sends once more what was not acknowledged.
	again = 100 * time.Millisecond
)

// senders send one event after the other, each until it is acknowledged, and some
// of them twice.
type senders struct {
	history  *history.Writer
	gateways []string // URLs
	pace     time.Duration
	client   *http.Client

	made  atomic.Int64 // events
	acked atomic.Int64 // answers 2xx
	all   sync.WaitGroup
}

// start begins to send; it goes on until ctx is done, and each event until it is
// acknowledged or until giveUp is done.
func (s *senders) start(ctx, giveUp context.Context, n int) {
	s.client = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	for i := range n {
		s.all.Go(func() {
			name := fmt.Sprintf("sender-%d", i+1)
			for ctx.Err() == nil {
				s.event(giveUp, name)
				select {
				case <-time.After(s.pace):
				case <-ctx.Done():
				}
			}
		})
	}
}

// parcel is a delivery that may be sent many times.
type parcel struct {
	source, id, body string
	deliveryID       string // in a header; empty: the id is in the body
}

// event makes an event and sends it until it is known to be there.
func (s *senders) event(ctx context.Context, name string) {
	n := s.made.Add(1)
	p := parcel{source: []string{sourceMain, sourceHandled, sourceReplayed, sourceGuarded, sourceRepeats}[n%5], id: fmt.Sprintf("evt_%d", n)}
	kind := "usual"
	if p.source == sourceHandled && rand.IntN(4) == 0 { //nolint:gosec // no secret depends on it
		kind = "hopeless"
	}
	p.body = fmt.Sprintf(`{"id":%q,"type":%q,"mail":%t}`, p.id, kind, n%8 == 0)
	if p.source == sourceGuarded || p.source == sourceRepeats {
		p.deliveryID = p.id
	}
	s.until(ctx, name, p)
	switch {
	case p.deliveryID != "": // the same signature under another id is held, the same body a duplicate
		p.id += "_again"
		p.deliveryID = p.id
		s.until(ctx, name, p)
	case n%3 == 0:
		s.until(ctx, name, p)
	}
}

// until delivers until the answer is 2xx.
func (s *senders) until(ctx context.Context, name string, p parcel) {
	for attempt := 1; ctx.Err() == nil; attempt++ {
		if s.deliver(name, p, attempt) {
			return
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// deliver sends the parcel once. It reports whether it was acknowledged.
func (s *senders) deliver(name string, p parcel, attempt int) bool {
	hash := sha256.Sum256([]byte(p.body))
	target := s.gateways[rand.IntN(len(s.gateways))] //nolint:gosec // no secret depends on it
	told := history.Delivery{
		Source: p.source, Gateway: target, EventIDs: []string{p.id}, Hash: hex.EncodeToString(hash[:]),
		Signed: true, Attempt: attempt, Deadline: patience.Microseconds(),
	}
	operation := s.history.Begin(history.Record{Who: name, Op: history.OpDeliver, Delivery: &told})
	ended := told
	// Not the context of the run: a delivery that was begun is waited for.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/webhooks/"+p.source, strings.NewReader(p.body))
	if err != nil {
		operation.End(history.Fail, err.Error(), nil)
		return false
	}
	mac := hmac.New(sha256.New, []byte(sourceSecret))
	_, _ = mac.Write([]byte(p.body)) // a hash never fails
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	request.Header.Set("Content-Type", "application/json")
	if p.deliveryID != "" {
		request.Header.Set("X-Id", p.deliveryID)
	}
	answer, err := s.client.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	if err != nil {
		operation.End(history.Unknown, err.Error(), nil)
		return false
	}
	ended.Status, ended.Result = answer.StatusCode, answer.Header.Get(gateway.StatusHeader)
	kind := history.Fail
	if answer.StatusCode/100 == 2 {
		kind = history.OK
		s.acked.Add(1)
	}
	operation.End(kind, "", func(r *history.Record) { r.Delivery = &ended })
	return kind == history.OK
}
