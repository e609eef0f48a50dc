package senders

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
	"github.com/hooklatch/hooklatch/gateway/provider"
)

// delivery is one request.
type delivery struct {
	event   *event
	attempt int
	manner  manner
	forgery forgery      // defect of a forged delivery, if any
	path    string       // the requested source; empty for the event's own source
	last    post.Outcome // outcome of the previous attempt
	to      target
	by      *sender
}

// deliver makes the request and records its result.
func (s *Senders) deliver(ctx context.Context, d delivery, dice *rand.Rand) post.Outcome {
	e, deadline := d.event, d.event.source.deadline
	if d.manner == hangUp {
		deadline = time.Duration(1+dice.Int64N(30)) * time.Millisecond
	}
	path := e.source.Name
	if d.path != "" {
		path = d.path
	}
	r := &provider.Request{Method: http.MethodPost, URL: d.to.base.JoinPath("webhooks", path), Header: e.header.Clone(), Body: slices.Clone(e.body)}
	e.source.mark(r.Header, d.attempt, d.last)
	if err := d.forgery.sign(r, e.source, dice); err != nil {
		panic(fmt.Sprintf("sign as %s: %s", e.source.Provider, err)) // never: the scenario's secrets are valid
	}
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	out := post.Delivery{
		Who: d.by.name, Text: d.text(), Client: d.by.client, Request: r, Body: d.manner.reader(ctx, r.Body, e.source.deadline), Deadline: deadline,
		Told: history.Delivery{
			Source: path, Gateway: d.to.Name, EventIDs: e.ids, Signed: d.forgery == genuine, Group: e.group, Version: e.version, Attempt: d.attempt,
		},
	}.Make(ctx, s.opts.History)
	if out.Acknowledged {
		s.tally.add(time.Now())
		e.acked.Store(true)
	}
	return out
}

// text describes the special properties of a delivery.
func (d *delivery) text() string {
	if d.forgery != genuine {
		return string(d.forgery)
	}
	return string(d.manner)
}

// mark sets the headers with which Slack marks a retry. The other providers of a run mark none.
func (s *source) mark(header http.Header, attempt int, last post.Outcome) {
	if s.Provider != "slack" || attempt == 1 {
		return
	}
	reason := "http_error"
	switch {
	case errors.Is(last.Err, context.DeadlineExceeded):
		reason = "http_timeout"
	case last.Err != nil:
		reason = "connection_failed"
	}
	header.Set("X-Slack-Retry-Num", strconv.Itoa(attempt-1))
	header.Set("X-Slack-Retry-Reason", reason)
}
