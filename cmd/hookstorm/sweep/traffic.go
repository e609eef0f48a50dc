package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cells"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/senders"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// traffic holds the senders and the goroutines that run during one part.
type traffic struct {
	senders *senders.Senders
	around  sync.WaitGroup
}

// traffic starts the senders, the sender with a list, stir and ask. The method heal stops the
// senders; the other three end when ctx is done.
func (w *world) traffic(ctx context.Context, rate float64) (*traffic, error) {
	made, err := senders.New(senders.Options{
		// Haste 2 makes deadlines of 5 s. Each part has its own seed, so that its ids differ from
		// those of other parts.
		History: w.History, Gateways: w.gateways, Sources: sources(), Seed: w.opts.Seed + int64(len(w.sent)), Rate: rate, Haste: 2, MaxWait: 200 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	t := &traffic{senders: made}
	w.sent = append(w.sent, made)
	made.Start()
	t.around.Go(func() { stir(ctx, w.pool, w.calls) })
	t.around.Go(func() { ask(ctx, w.health) })
	t.around.Go(func() { w.listed.Run(ctx) })
	return t, nil
}

// ask repeatedly queries whether processes are ready. Each process checks this with a transaction.
func ask(ctx context.Context, urls []string) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, url := range urls {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				continue
			}
			if answer, err := client.Do(request); err == nil {
				answer.Body.Close()
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *world) acked() (n int64) {
	for _, sent := range w.sent {
		n += sent.Acked()
	}
	return n
}

// quietWithin is the maximum time in which accepted work must finish. It covers leases of 16 s,
// pauses that are checked every 10 s, retries, and hundreds of destinations that are retired one
// after another.
const quietWithin = 5 * time.Minute

// heal is called after the last fault of a part. It rescues the jobs of dead processes, starts
// processes without faults, and waits until all work is finished, at most for quietWithin. Then it
// stops the processes. Unfinished work is not an error: the checker reports it.
func (w *world) heal(ctx context.Context, t *traffic) error {
	w.Phase(history.PhaseHeal)
	t.around.Wait()
	if err := rescue(ctx, w.pool); err != nil {
		return fmt.Errorf("rescue jobs: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, quietWithin)
	defer cancel()
	for _, p := range w.calm {
		if err := p.Start(ctx, "SWEEP_ROLE=calm"); err != nil {
			return err
		}
	}
	if err := t.senders.Stop(ctx); err != nil {
		return fmt.Errorf("although all faults had ended: %w", err)
	}
	if err := errors.Join(w.endPast(ctx), w.endMoves(ctx)); err != nil {
		return err
	}
	left, err := w.Until(ctx, stage.Quiet{Pool: w.pool, Listed: w.listed, Outcomes: []string{"received", "held", "dropped", "failed"}})
	if len(left) > 0 || err != nil {
		// The checker reports the unfinished work with its stories.
		w.Sayf("work is left although all faults have ended: %v %v", left, err)
	}
	w.Phase(history.PhaseQuiet)
	return w.End(context.WithoutCancel(ctx))
}

// endPast makes retention delete all past days that actors created.
func (w *world) endPast(ctx context.Context) error {
	box, err := outbox.New(outbox.Options{Pool: w.pool})
	if err != nil {
		return err
	}
	err = past.New(w.pool, box.Retention()).End(ctx, ledger.Operator{Who: "sweep", Via: "sweep"})
	return errors.Join(err, box.Stop(context.WithoutCancel(ctx)))
}

// endMoves completes the move of the source that actors moved, and checks its events.
func (w *world) endMoves(ctx context.Context) error {
	both, err := cells.New(w.pool)
	if err != nil {
		return err
	}
	err = both.End(ctx, ledger.Operator{Who: "sweep", Via: "sweep"})
	return errors.Join(err, both.Stop(context.WithoutCancel(ctx)))
}
