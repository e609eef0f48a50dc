package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/throttle"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/pipeline"
)

// replaySample is how many events a preview shows.
const replaySample = 5

// ReplayFilter selects events to replay. Empty fields take all. An event that
// waits for its dispatch, or that a replay guard held, is never among them.
type ReplayFilter struct {
	Source identity.Source
	Type   string    // or a pattern of package wildcard, like invoice.*
	State  Outcome   // dispatched, skipped or failed
	From   time.Time // received at or after
	Until  time.Time // received before
	// Match decides by what is in the event, its body included. An event for
	// which it fails is left out.
	Match func(*Event) (bool, error)
}

// ReplayPace bounds a replay of many events.
type ReplayPace struct {
	PerSecond float64 // events replayed per second; 0: as fast as it goes
	// Progress is called after each event that was looked at. Nil: nobody.
	Progress func(ReplayProgress)
}

// ReplayProgress is how far a replay of many events has come.
type ReplayProgress struct {
	Total    int64 // events of the filter when it began, Match aside
	Seen     int64
	Replayed int64
	Reopened int64 // effects that are tried again under their old key
	Last     identity.EventRef
	// Unclear counts those left out because Match failed, the first time with
	// WhyUnclear.
	Unclear    int64
	WhyUnclear error
}

// ReplayPreview is what a replay of many events would replay.
type ReplayPreview struct {
	Selected   int64
	Unclear    int64 // left out, as in ReplayProgress
	WhyUnclear error
	Sample     []*Event // the first of Selected
}

// PreviewReplay counts what a replay of f would replay now, and shows some of
// it. It changes nothing. With f.Match it loads every event that the rest of f
// selects, and calls progress after each; progress may be nil.
func (i *Inbox) PreviewReplay(ctx context.Context, f ReplayFilter, progress func(seen, total int64)) (ReplayPreview, error) {
	var v ReplayPreview
	total, last, err := i.countReplayable(ctx, f)
	if err != nil {
		return v, err
	}
	var seen int64
	errEnough := errors.New("seen enough")
	err = i.eachReplayable(ctx, f, last, func(ref identity.EventRef, yes bool, unclear error) error {
		seen++
		switch {
		case unclear != nil:
			v.Unclear++
			v.WhyUnclear = cmp.Or(v.WhyUnclear, unclear)
		case yes:
			v.Selected++
			if len(v.Sample) == replaySample {
				break
			}
			e, err := i.event(ctx, pipeline.ByIndex{Sender: i.readPool}, ref)
			if err != nil && !errors.Is(err, ledger.ErrNotFound) {
				return err
			}
			if err == nil {
				v.Sample = append(v.Sample, e)
			}
		}
		if progress != nil {
			progress(seen, total)
		}
		if f.Match == nil && len(v.Sample) == replaySample {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return v, err
	}
	if f.Match == nil {
		v.Selected = total
	}
	return v, nil
}

// ReplayMany replays the events of f in the order they were accepted, each in a
// transaction of its own as Replay does, until all are through or ctx is done.
// Events accepted after it began are left out, and so are those that somebody
// else replays meanwhile. What was replayed before an error stays replayed.
func (i *Inbox) ReplayMany(ctx context.Context, f ReplayFilter, by ledger.Operator, opts ReplayOptions, pace ReplayPace) (ReplayProgress, error) {
	var done ReplayProgress
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	total, last, err := i.countReplayable(ctx, f)
	if err != nil {
		return done, err
	}
	done.Total = total
	pacer := throttle.New(pace.PerSecond)
	defer pacer.Stop()
	err = i.eachReplayable(ctx, f, last, func(ref identity.EventRef, yes bool, unclear error) error {
		if unclear != nil {
			done.Unclear++
			done.WhyUnclear = cmp.Or(done.WhyUnclear, unclear)
		}
		if yes {
			if err := pacer.Wait(ctx); err != nil {
				return fmt.Errorf("replay events: %w", err)
			}
			replayed, err := i.Replay(ctx, ref, by, opts)
			switch {
			case err == nil:
				done.Replayed++
				done.Reopened += int64(replayed.Reopened)
			case !errors.Is(err, ErrNotReplayable) && !errors.Is(err, ledger.ErrNotFound): // else somebody was faster
				return err
			}
		}
		done.Seen++
		done.Last = ref
		if pace.Progress != nil {
			pace.Progress(done)
		}
		return nil
	})
	return done, err
}
