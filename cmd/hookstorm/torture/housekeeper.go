package torture

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// keepEvery is the interval at which retention gets something to delete.
const keepEvery = 2 * time.Second

// housekeeper creates days that are years old and makes retention delete them, under the same
// faults as all processes.
type housekeeper struct {
	pool *pgxpool.Pool
	box  *outbox.Outbox
	past *past.Past
	by   ledger.Operator

	cancel  context.CancelFunc
	running sync.WaitGroup
	done    int // finished rounds; read only after rest
}

func newHousekeeper(ctx context.Context, url string) (*housekeeper, error) {
	pool, err := application.NewPool(ctx, secret.New(url), 4, "hookstorm housekeeper")
	if err != nil {
		return nil, fmt.Errorf("housekeeper: %w", err)
	}
	h := &housekeeper{pool: pool, by: ledger.Operator{Who: "housekeeper", Via: "hookstorm"}}
	if h.box, err = outbox.New(outbox.Options{Pool: h.pool}); err != nil {
		h.pool.Close()
		return nil, fmt.Errorf("housekeeper: %w", err)
	}
	h.past = past.New(h.pool, h.box.Retention())
	return h, nil
}

// start starts the rounds. They continue after ctx is done, until rest is called.
func (h *housekeeper) start(ctx context.Context) {
	ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.running.Go(func() {
		for sleep(ctx, keepEvery) {
			if h.past.Round(ctx, h.by) == nil { // a later round finishes an interrupted one
				h.done++
			}
		}
	})
}

// rest interrupts the current round and returns when it has ended. No new round begins.
func (h *housekeeper) rest() {
	if h.cancel != nil {
		h.cancel()
	}
	h.running.Wait()
}

// end stops the rounds and makes retention delete all past days.
func (h *housekeeper) end(ctx context.Context) error {
	h.rest()
	return h.past.End(ctx, h.by)
}

// stop stops the rounds and closes the connections.
func (h *housekeeper) stop(ctx context.Context) error {
	h.rest()
	err := h.box.Stop(ctx)
	h.pool.Close()
	return err
}
