package planted

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

const (
	// senderDeadline is the maximum wait of a sender that does not hang up.
	senderDeadline = 20 * time.Second
	// acceptTimeout is the accept_timeout of gateways. A busy machine must not cause a 503.
	acceptTimeout = 15 * time.Second
)

// event is the content that a sender signs and delivers.
type event struct {
	source scenario.Source
	id     string
	header http.Header
	body   []byte
}

// event returns the event of a source with this id. Repeated calls return the same event. Sources
// with accounts use the same account for all events.
func (s *scene) event(source, id string) (e event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, known := s.events[source+" "+id]; known {
		return e, nil
	}
	e = event{source: scenario.SourceNamed(source), id: id, header: http.Header{"Content-Type": {"application/json"}}}
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
	s.events[source+" "+id] = e
	return e, nil
}

// deliver sends the event to a gateway once, and records the result. ctx bounds the sender's
// wait.
func (s *scene) deliver(ctx context.Context, to *process, e event, attempt int) (post.Outcome, error) {
	p, err := catalog.New(e.source.Provider, e.source.Options)
	if err != nil {
		return post.Outcome{}, fmt.Errorf("make provider %s: %w", e.source.Provider, err)
	}
	address, err := url.Parse(to.gateway + "/webhooks/" + e.source.Name)
	if err != nil {
		return post.Outcome{}, fmt.Errorf("address of %s: %w", to.Name(), err)
	}
	r := &provider.Request{Method: http.MethodPost, URL: address, Header: e.header.Clone(), Body: e.body}
	if err := p.Sign(r, e.source.Secret, time.Now()); err != nil {
		return post.Outcome{}, fmt.Errorf("sign as %s: %w", e.source.Provider, err)
	}
	return post.Delivery{
		Who: "sender", Request: r, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: senderDeadline},
		Told: history.Delivery{Source: e.source.Name, Gateway: to.Name(), EventIDs: []string{e.id}, Signed: true, Attempt: attempt},
	}.Make(ctx, s.History), nil // a missing acknowledgement is not an error here: schedules check for it
}

// acknowledge returns a step that delivers events one after another. The step fails if the gateway
// does not acknowledge each event at its first attempt.
func acknowledge(by, source string, ids ...string) step {
	return func(ctx context.Context, s *scene) error {
		for _, id := range ids {
			e, err := s.event(source, id)
			if err != nil {
				return err
			}
			if err := s.acknowledge(ctx, s.processes[by], e, 1); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *scene) acknowledge(ctx context.Context, to *process, e event, attempt int) error {
	said, err := s.deliver(ctx, to, e, attempt)
	if err == nil && !said.Acknowledged {
		err = fmt.Errorf("%s did not acknowledge %s\n%s", to.Name(), e.id, to.LastLines())
	}
	return err
}

// delivers returns a step that sends an event once, whatever the response.
func delivers(to, source, id string, attempt int) step {
	return func(ctx context.Context, s *scene) error {
		e, err := s.event(source, id)
		if err != nil {
			return err
		}
		_, err = s.deliver(ctx, s.processes[to], e, attempt)
		return err
	}
}

// numbered returns n ids: the prefix with a number from 0.
func numbered(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return ids
}
