package senders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 4 << 10

// delivery is one request.
type delivery struct {
	event   *event
	attempt int
	manner  manner
	forgery forgery // not validly signed
	path    string  // the source that is asked for; empty: that of the event
	last    outcome // of the attempt before
	to      target
	by      *sender
}

// outcome is what a sender learned of a delivery.
type outcome struct {
	acknowledged bool
	status       int // 0 without an answer
	result       string
	err          error
}

// deliver makes the request and writes down what came of it.
func (s *Senders) deliver(ctx context.Context, d delivery, dice *rand.Rand) outcome {
	deadline := d.event.source.deadline
	if d.manner == hangUp {
		deadline = time.Duration(1+dice.Int64N(30)) * time.Millisecond
	}
	request, err := s.request(ctx, d, dice)
	if err != nil {
		panic(fmt.Sprintf("sign as %s: %s", d.event.source.Provider, err)) // with secrets of the scenario
	}
	told := history.Delivery{
		Source: request.source, Gateway: d.to.Name, EventIDs: d.event.ids, Hash: hashOf(request.body), Signed: d.forgery == genuine,
		Group: d.event.group, Version: d.event.version, Attempt: d.attempt, Deadline: deadline.Microseconds(),
	}
	begun := told
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	operation := s.opts.History.Begin(history.Record{Who: d.by.name, Op: history.OpDeliver, Text: d.text(), Delivery: &begun})
	out := d.by.send(ctx, request, deadline)
	if out.acknowledged {
		s.tally.add(time.Now())
	}
	told.Status, told.Result = out.status, out.result
	text := ""
	if out.err != nil {
		text = out.err.Error()
	}
	operation.End(out.kind(), text, func(r *history.Record) { r.Delivery = &told })
	return out
}

// text tells people what is special about a delivery.
func (d *delivery) text() string {
	if d.forgery != genuine {
		return string(d.forgery)
	}
	return string(d.manner)
}

// signedRequest is a request that is ready to be sent.
type signedRequest struct {
	source, url string
	method      string
	header      http.Header
	body        []byte
	reader      io.Reader
}

// request signs the event now, and spoils it if it is to be refused.
func (s *Senders) request(ctx context.Context, d delivery, dice *rand.Rand) (signedRequest, error) {
	e := d.event
	path := e.source.Name
	if d.path != "" {
		path = d.path
	}
	address := d.to.base.JoinPath("webhooks", path)
	r := &provider.Request{Method: http.MethodPost, URL: address, Header: e.header.Clone(), Body: slices.Clone(e.body)}
	e.source.mark(r.Header, d.attempt, d.last)
	if err := d.forgery.sign(r, e.source, dice); err != nil {
		return signedRequest{}, err
	}
	return signedRequest{
		source: path, url: r.URL.String(), method: r.Method, header: r.Header, body: r.Body, reader: d.manner.reader(ctx, r.Body, e.source.deadline),
	}, nil
}

// send sends a request and waits for the answer until the deadline.
func (by *sender) send(ctx context.Context, r signedRequest, deadline time.Duration) outcome {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.method, r.url, io.NopCloser(r.reader))
	if err != nil {
		return outcome{err: err}
	}
	// Without GetBody net/http cannot send a body twice for one delivery.
	request.Header, request.ContentLength = r.header, int64(len(r.body))
	if len(r.body) == 0 {
		request.Body = http.NoBody
	}
	response, err := by.client.Do(request)
	if err != nil {
		return outcome{err: err}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // the status is the answer
	out := outcome{status: response.StatusCode, result: response.Header.Get(gateway.StatusHeader)}
	out.acknowledged = out.status/100 == 2
	return out
}

// kind is what the outcome says of the delivery: whether it certainly was taken,
// or certainly was not.
func (out outcome) kind() history.Kind {
	if out.acknowledged {
		return history.OK
	}
	if out.status >= 300 && out.status < 500 || out.unsent() {
		return history.Fail
	}
	return history.Unknown
}

// unsent says whether there was no connection to send it over.
func (out outcome) unsent() bool {
	dial, ok := errors.AsType[*net.OpError](out.err)
	return ok && dial.Op == "dial"
}

// mark are the headers by which a provider says that an attempt is not the first.
func (s *source) mark(header http.Header, attempt int, last outcome) {
	if s.Provider != "slack" || attempt == 1 {
		return
	}
	reason := "http_error"
	switch {
	case errors.Is(last.err, context.DeadlineExceeded):
		reason = "http_timeout"
	case last.err != nil:
		reason = "connection_failed"
	}
	header.Set("X-Slack-Retry-Num", strconv.Itoa(attempt-1))
	header.Set("X-Slack-Retry-Reason", reason)
}
