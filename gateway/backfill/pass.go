package backfill

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// leaseSlack is the time by which a pass may exceed its budget before another pass may
	// begin.
	leaseSlack = 10 * time.Second
	// longestLease plus leaseSlack is the longest time for which a list stays unread after a pass's
	// process was lost.
	longestLease = 10 * time.Minute
	// maxError limits a stored error, in bytes.
	maxError = 500
)

// pass is one pass over one list.
type pass struct {
	b      *Backfill
	source Source
	list   *provider.List
	client *client
	order  Order
	row    *coverage.Pass
	began  time.Time // when row was read, by this process's clock
	run    *coverage.Run

	readUntil     time.Time       // no page is read after this, so that time remains to store items; zero: no limit
	counted       coverage.Counts // counts already added to the metrics
	types         []string
	endpointTypes []string
	version       string                    // payload version that our endpoint receives
	gateway       bool                      // true if a running gateway can receive redeliveries
	waiting       map[identity.EventID]bool // events with an outstanding redelivery; redeliver requests no second one
	move          coverage.Move             // the position that was committed last
	stored        time.Duration             // duration of the batch's transaction; 0: it stored no event
}

// dry reports whether the pass writes nothing.
func (p *pass) dry() bool { return p.order.DryRun }

// reports is true if the pass only counts missing events and recovers none.
func (p *pass) reports() bool {
	return p.dry() || p.order.By == "" && p.source.Settings.Mode == ModeReport
}

func (p *pass) coverage() *coverage.Coverage { return p.b.opts.Outbox.Coverage() }

// pass runs a pass if it is due or requested; otherwise it returns nil. It returns only Hooklatch's
// own errors, and records the provider's failures in the run.
func (b *Backfill) pass(ctx context.Context, s Source, account string, o Order) (*coverage.Run, error) {
	p := &pass{b: b, source: s, list: s.Settings.List, order: o, waiting: map[identity.EventID]bool{}}
	if p.list == nil {
		return nil, nil
	}
	if deadline, limited := ctx.Deadline(); limited {
		p.readUntil = time.Now().Add(time.Until(deadline) / 2)
	}
	var err error
	if p.client, err = b.clients.of(s.Settings); err != nil {
		return nil, err
	}
	if p.dry() {
		p.row, err = p.coverage().Look(ctx, s.stream(account))
	} else {
		p.row, err = p.coverage().Begin(ctx, s.stream(account), o.By != "", min(b.opts.Budget, longestLease)+leaseSlack, time.Duration(p.list.BackDays)*day)
	}
	if err != nil || p.row == nil {
		return nil, err
	}
	p.began = time.Now()
	p.move = coverage.Move{PassUntil: p.row.PassUntil, PageToken: p.row.PageToken, Mark: p.row.Mark}
	since, until, deep := p.span()
	p.run = &coverage.Run{Stream: p.row.Stream, Since: since, Until: until, Mode: p.mode(), RequestedBy: o.By}
	err = p.make(ctx, since, until, deep)
	return p.run, p.end(ctx, err)
}

func (p *pass) mode() coverage.Mode {
	switch {
	case p.reports():
		return coverage.ModeReport
	case p.order.By != "":
		return coverage.ModeOrdered
	}
	return coverage.ModeAuto
}

// span returns the period that the pass covers. The result deep is true for a pass over the
// complete window.
func (p *pass) span() (since, until time.Time, deep bool) {
	settings := p.source.Settings
	until = p.row.Now.Add(-settings.Lag)
	since = p.row.CoveredUntil.Add(-settings.Overlap)
	if deep = !p.row.DeepUntil.Add(settings.Deep).After(p.row.Now); deep {
		since = p.row.Now.Add(-settings.Window)
	}
	since = latest(since, p.row.Now.Add(-settings.Window), p.row.CreatedAt)
	if p.order.By == "" && !p.dry() {
		return since, until, deep
	}
	if !p.order.Since.IsZero() {
		since, deep = p.order.Since, false
	}
	if !p.order.Until.IsZero() && p.order.Until.Before(until) {
		until = p.order.Until
	}
	return since, until, deep
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

func (p *pass) make(ctx context.Context, since, until time.Time, deep bool) error {
	if !p.dry() {
		if err := p.coverage().BeginRun(ctx, p.run); err != nil {
			return err
		}
	}
	if err := p.checkEndpoint(ctx); err != nil {
		return err
	}
	if p.list.Path == "" {
		return nil
	}
	if err := p.chooseTypes(); err != nil {
		return err
	}
	var err error
	if p.gateway, err = p.coverage().GatewayRuns(ctx, p.b.opts.GatewayGone); err != nil {
		return err
	}
	if err := p.settleRedeliveries(ctx); err != nil {
		return err
	}
	switch {
	case p.list.Order == provider.Feed:
		err = p.follow(ctx, since)
	case p.list.Sliced():
		err = p.slices(ctx, since, until, deep)
	default:
		err = p.walk(ctx, since, until, deep)
	}
	if err != nil || !deep || p.order.partial() {
		return err
	}
	move := p.move
	move.DeepUntil = p.row.Now
	return p.accept(ctx, nil, move)
}

// end records the outcome of the pass. It fails if our database is unavailable. A timeout while the
// pass still has time is a failure of the provider or of our database.
func (p *pass) end(ctx context.Context, err error) error {
	timeIsUp := errors.Is(err, errBudget) || ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
	ctx = context.WithoutCancel(ctx)
	if p.dry() {
		if err != nil && !errors.Is(err, errLimit) {
			p.run.Error = safetext.Excerpt(err.Error(), maxError)
		}
		return nil
	}
	end := coverage.End{Next: p.source.Settings.Every}
	throttled, isThrottled := errors.AsType[*throttledError](err)
	switch {
	case err == nil:
	case errors.Is(err, coverage.ErrOvertaken):
		if p.run.Error = err.Error(); p.run.ID != 0 {
			return p.coverage().EndRun(ctx, p.run)
		}
		return nil
	case errors.Is(err, errLimit):
	case timeIsUp:
		end.Next = 0
		goesOn := "the next pass continues where this one stopped"
		if p.order.By != "" {
			goesOn = "its events are stored; start it again for the rest"
		}
		p.run.Error = "the pass used up its time before its end: " + goesOn
	case isThrottled:
		end.Error, end.Next, end.RetryAfter = err.Error(), throttled.after, throttled.after
		p.b.meters.throttled.Add(ctx, throttled.after.Seconds(), metric.WithAttributes(attribute.String("source", p.source.Name)))
	default:
		end.Error = safetext.Excerpt(err.Error(), maxError)
	}
	p.run.Error = cmp.Or(end.Error, p.run.Error)
	if p.run.ID != 0 {
		if err := p.coverage().EndRun(ctx, p.run); err != nil {
			return err
		}
	}
	p.tell(ctx, end.Error)
	return p.coverage().End(ctx, p.row, end)
}

// tell updates the metrics and logs the number of unlisted events. It also logs how many missing
// events the pass found, because a silent repair would hide the outage that made it necessary. If
// the pass found nothing and could not read the list, tell logs the reason instead.
func (p *pass) tell(ctx context.Context, unread string) {
	p.count(ctx)
	p.tellUnlisted(ctx)
	attrs := []slog.Attr{
		slog.String(logkey.Source, p.source.Name), slog.Int64(logkey.Run, p.run.ID), slog.Int64(logkey.Listed, p.run.Listed), slog.Int64(logkey.Missing, p.run.Missing),
		slog.Int64(logkey.Recovered, p.run.Recovered), slog.Int64(logkey.Asked, p.run.Asked), slog.Int64(logkey.Lost, p.run.Lost), slog.Int64(logkey.Invalid, p.run.Invalid),
	}
	logger := p.b.opts.Logger
	switch {
	case p.run.Found():
		attrs = append(attrs, slog.Time(logkey.Oldest, p.run.Oldest), slog.Time(logkey.Newest, p.run.Newest))
		logger.LogAttrs(ctx, slog.LevelWarn, "the list of the provider has events that its webhook did not deliver", attrs...)
	case unread != "":
		logger.LogAttrs(ctx, slog.LevelWarn, "the list of the provider could not be read", append(attrs, slog.String(logkey.Err, unread))...)
	}
}

// met passes an item and its fate to Order.Met.
func (p *pass) met(i *Item, fate Fate) {
	if p.order.Met != nil {
		p.order.Met(*i, fate)
	}
}

func (p *pass) sourceID() identity.Source { return identity.Source(p.source.Name) }
