package app

import (
	"context"
	"errors"
	"net/url"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/testevent"
)

// testEvents sends the console's test events to the gateway.
type testEvents struct{ app *App }

// WhyNot implements console.TestEvents.
func (t testEvents) WhyNot(source string) string {
	cfg := t.app.config.Load()
	if cfg.Admin.TestEvents == config.TestEventsOff {
		return "the configuration has admin.test_events: off"
	}
	s, err := t.sender(cfg, source)
	if err == nil {
		defer s.Close()
		_, err = s.Sign(s.Sample("", ""))
	}
	if err != nil {
		return "the source's deliveries cannot be signed here: " + err.Error()
	}
	return ""
}

// Prepare implements console.TestEvents.
func (t testEvents) Prepare(source, eventType string) (console.TestEvent, error) {
	s, err := t.sender(t.app.config.Load(), source)
	if err != nil {
		return console.TestEvent{}, err
	}
	event := s.Sample(eventType, "")
	return console.TestEvent{
		ID: s.IDOf(event), URL: s.Target.Called.String(),
		Deliver: func(ctx context.Context) console.Delivered {
			defer s.Close()
			came := s.Deliver(ctx, event)
			d := console.Delivered{Status: came.Status, Result: came.Result, Body: came.Body, Took: came.Took}
			if came.Status == 0 {
				d.Error = withoutURL(came.Err).Error()
			}
			return d
		},
	}, nil
}

// withoutURL returns the cause of a failed request without the URL, which may contain a signature
// or a secret.
func withoutURL(err error) error {
	if failed, is := errors.AsType[*url.Error](err); is {
		return failed.Err
	}
	return err
}

// sender returns the sender of a source's test events. The sender delivers to admin.test_events if
// that is set. Otherwise, it delivers to the gateway of this process or, if this process has no
// listening gateway, to the configured address.
func (t testEvents) sender(cfg *config.Config, source string) (*testevent.Sender, error) {
	if cfg.Admin.TestEvents != "" {
		base, err := testevent.BaseURL(cfg.Admin.TestEvents)
		if err != nil {
			return nil, err
		}
		return testevent.New(cfg, source, base, 1)
	}
	if own := t.app.GatewayAddr(); own != nil {
		listening := *cfg
		listening.Gateway.Listen = own.String()
		cfg = &listening
	}
	return testevent.New(cfg, source, nil, 1)
}
