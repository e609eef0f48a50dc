package planted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

// senderDeadline is the patience of a sender that does not hang up.
const senderDeadline = 20 * time.Second

// event is what a sender delivers.
type event struct {
	source scenario.Source
	id     string
	header http.Header
	body   []byte
}

// newEvent makes an event. All of one source with an account are about the same.
func newEvent(source, id string) (event, error) {
	e := event{source: scenario.SourceNamed(source), id: id, header: http.Header{"Content-Type": {"application/json"}}}
	now := time.Now().UTC()
	switch e.source.Shape {
	case scenario.Sample:
		p, err := catalog.New(e.source.Provider, e.source.Options)
		if err != nil {
			return event{}, fmt.Errorf("make provider %s: %w", e.source.Provider, err)
		}
		r := p.Sample("", id, now)
		e.header, e.body = r.Header, r.Body
	case scenario.Account, scenario.Batch:
		e.body = fmt.Appendf(nil, `{"id":%q,"type":"account.updated","account":"acc_1","version":1,"occurred_at":%q}`, id, now.Format(time.RFC3339Nano))
	case scenario.Repeat:
		e.header.Set("X-Id", id)
		e.body = []byte(`{"said":"one"}`)
	case scenario.Poison:
		e.header.Set("X-Id", id)
		e.body = []byte("\x00 the same in all")
	}
	return e, nil
}

// answer is what a gateway said.
type answer struct {
	acknowledged bool
	result       string // accepted or duplicate
}

// deliver sends the event to a gateway once, and writes down what came of it; ctx
// is the sender's patience.
func (s *stage) deliver(ctx context.Context, to *process, e event, attempt int) (answer, error) {
	request, err := signed(ctx, to, e)
	if err != nil {
		return answer{}, err
	}
	sum := sha256.Sum256(e.body)
	told := history.Delivery{
		Source: e.source.Name, Gateway: to.Name(), EventIDs: []string{e.id}, Hash: hex.EncodeToString(sum[:]), Signed: true, Attempt: attempt,
	}
	begun := told
	operation := s.history.Begin(history.Record{Who: "sender", Op: history.OpDeliver, Delivery: &begun})
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: senderDeadline}
	response, err := client.Do(request)
	if err != nil {
		operation.End(history.Unknown, err.Error(), nil)
		return answer{}, nil // that is what schedules are for
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // the status is the answer
	told.Status, told.Result = response.StatusCode, response.Header.Get(gateway.StatusHeader)
	kind := history.Unknown
	switch {
	case told.Status/100 == 2:
		kind = history.OK
	case told.Status < http.StatusInternalServerError:
		kind = history.Fail
	}
	operation.End(kind, "", func(r *history.Record) { r.Delivery = &told })
	return answer{kind == history.OK, told.Result}, nil
}

// signed is a delivery as its sender signs it now.
func signed(ctx context.Context, to *process, e event) (*http.Request, error) {
	p, err := catalog.New(e.source.Provider, e.source.Options)
	if err != nil {
		return nil, fmt.Errorf("make provider %s: %w", e.source.Provider, err)
	}
	address, err := url.Parse(to.gateway + "/webhooks/" + e.source.Name)
	if err != nil {
		return nil, fmt.Errorf("address of %s: %w", to.Name(), err)
	}
	r := &provider.Request{Method: http.MethodPost, URL: address, Header: e.header.Clone(), Body: e.body}
	if err := p.Sign(r, e.source.Secret, time.Now()); err != nil {
		return nil, fmt.Errorf("sign as %s: %w", e.source.Provider, err)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("deliver to %s: %w", to.Name(), err)
	}
	request.Header = r.Header
	return request, nil
}

// acknowledge delivers an event of its own until that is acknowledged, which an
// idle gateway does at once.
func (s *stage) acknowledge(ctx context.Context, to *process, source, id string) error {
	e, err := newEvent(source, id)
	if err != nil {
		return err
	}
	said, err := s.deliver(ctx, to, e, 1)
	if err == nil && !said.acknowledged {
		err = fmt.Errorf("%s did not acknowledge %s\n%s", to.Name(), id, to.LastLines())
	}
	return err
}

// addressOf is host and port of a server's URL.
func addressOf(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the URL of the server cannot be read") // the cause quotes the password
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}
