package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/alarm"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

const (
	// alarmQueue is a queue for alerts only. In another queue, alerts would wait behind the effects
	// that they report.
	alarmQueue = "alerts"
	// alarmPollEvery is the maximum delay of an alert if the notification of its job was lost.
	alarmPollEvery = 5 * time.Second
	// alarmRetryMax is the maximum wait between two attempts to send an alert, without jitter.
	alarmRetryMax = 5 * time.Minute
	// mostAlarmAttempts limits the attempts to send an alert.
	mostAlarmAttempts = 5_000
	// heartbeatTimeout limits the request of one heartbeat. It is short because the next heartbeat
	// follows soon.
	heartbeatTimeout = 5 * time.Second
)

// alarmDestination returns the name of a destination's copy, which sends only alerts. Configured
// names contain no colon, so none of them equals the copy's name.
func alarmDestination(name string) string { return "alerts:" + name }

// addAlarms adds a copy of each destination to which alerts are sent. The copies have a separate
// queue, and neither a rate limit nor a breaker.
func (made *destinations) addAlarms(cfg *config.Config) {
	wanted := map[string]bool{}
	for _, to := range cfg.Alerts.To {
		wanted[to.Destination] = true
	}
	for _, d := range made.list {
		if !wanted[d.Name] {
			continue
		}
		d.Name, d.Queue = alarmDestination(d.Name), alarmQueue
		d.Rate, d.Burst, d.Breaker = 0, 0, lane.Breaker{Off: true}
		d.Policy, d.KeyTTL = ledger.AtLeastOnce, 0
		d.PollEvery = alarmPollEvery
		d.Retry = alarmRetry(d.Retry)
		made.list = append(made.list, d)
	}
}

// alarmRetry limits each wait to alarmRetryMax, because the later messages of an incident wait for
// the earlier ones. It raises the number of attempts, to at most mostAlarmAttempts, so that the
// waits together are at least as long as with s.
func alarmRetry(s destination.Schedule) destination.Schedule {
	s = s.WithDefaults()
	short := s
	short.Initial, short.Max = min(s.Initial, alarmRetryMax), min(s.Max, alarmRetryMax)
	var rest time.Duration
	for attempt := 1; attempt < min(s.MaxAttempts, mostAlarmAttempts); attempt++ {
		rest += s.Delay(attempt, 0, middle)
	}
	for short.MaxAttempts = 1; rest > 0 && short.MaxAttempts < mostAlarmAttempts; short.MaxAttempts++ {
		rest -= short.Delay(short.MaxAttempts, 0, middle)
	}
	return short
}

// middle takes the place of a random number in Schedule.Delay, for a wait without jitter.
func middle() float64 { return 0.5 }

func (a *App) makeAlarm() (*alarm.Alarm, error) {
	cfg := a.opts.Config
	opts := alarm.Options{
		Pool: a.pools.work, Schema: schema.Name(cfg.Database.Schema), Enqueue: a.outbox.EnqueueTx,
		For: cfg.Alerts.For, Repeat: cfg.Alerts.Repeat, SizeBudget: int64(cfg.Database.SizeBudget),
		TeamOf: func(about alarm.Alert) string { return a.config.Load().TeamOf(about.Subject) }, Logger: a.opts.Logger,
	}
	if len(cfg.Whole().Cells) > 0 {
		opts.Away = func(ctx context.Context) []string { return a.whole.cellsAway(ctx, a.cell) }
	}
	for _, to := range cfg.Alerts.To {
		target, err := alarmTarget(cfg, to)
		if err != nil {
			return nil, err
		}
		request := target.Request
		target.Request = func(m alarm.Message) (ledger.Request, error) {
			m.Alert.Command = cells.Commands(m.Alert.Command, a.cell)
			return request(m)
		}
		opts.To = append(opts.To, target)
	}
	if heartbeat := cfg.Alerts.Heartbeat; !heartbeat.IsZero() {
		opts.Beat = a.whileAllAnswer(beat(heartbeat.Reveal()))
	}
	return alarm.New(opts)
}

// alarmTarget converts an alert target of the configuration into a target for package alarm.
func alarmTarget(cfg *config.Config, to config.AlertTarget) (alarm.Target, error) {
	target := alarm.Target{Destination: alarmDestination(to.Destination), Team: to.Team}
	for _, severity := range to.Severities {
		target.Severities = append(target.Severities, alarm.Severity(severity))
	}
	switch {
	case cfg.Destinations[to.Destination].SMTP != nil:
		list, err := mail.ParseAddressList(to.Recipient)
		if err != nil {
			return target, fmt.Errorf("recipient of alerts: %w", err)
		}
		recipients := make([]string, 0, len(list))
		for _, one := range list {
			recipients = append(recipients, one.String())
		}
		target.Request = alarm.Mail(recipients...)
	case to.Format == config.FormatSlack:
		target.Request = alarm.Slack
	case to.Format == "" && cfg.Destinations[to.Destination].HTTP.Preset != "":
		target.Request = alarm.Chat(cfg.Destinations[to.Destination].HTTP.Preset)
	case to.Format == config.FormatPagerDuty:
		target.Request = alarm.PagerDuty
	default:
		target.Request = alarm.JSON
	}
	return target, nil
}

// beat returns a function that requests a URL and requires a 2xx response. Redirects are not
// followed: a login page is not a heartbeat monitor, and would receive the URL as the referrer.
// Errors do not contain the URL, which is a secret.
func beat(address string) func(ctx context.Context) error {
	client := &http.Client{
		Timeout:       heartbeatTimeout,
		Transport:     roundtrip.Bounded(&http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return errors.New("the URL is not valid")
		}
		response, err := client.Do(request)
		if err != nil {
			if failed, ok := errors.AsType[*url.Error](err); ok {
				err = failed.Err
			}
			return err
		}
		defer response.Body.Close()
		if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("answered %s", response.Status)
		}
		return nil
	}
}
