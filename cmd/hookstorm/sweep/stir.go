package sweep

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
)

const (
	// stirEvery is the interval at which rare work is created.
	stirEvery = 300 * time.Millisecond
	// spell is how long the flaky destinations keep one behaviour.
	spell = time.Second
)

//go:embed stir.sql
var stirText string

//go:embed rescue.sql
var rescueText string

// moods lists the behaviours of flaky destinations, each for one spell.
func moods() []receivers.Behaviour {
	return []receivers.Behaviour{receivers.ErrorBefore, receivers.OK, receivers.Switch, receivers.OK}
}

// stir creates rare situations until ctx is done: upkeep, paused queues, queues without
// workers, and destinations that are down.
func stir(ctx context.Context, pool *pgxpool.Pool, calls *receivers.Receivers) {
	tell := func(b receivers.Behaviour) {
		// destExtra fails too: only retries have jobs that a process without the destination may
		// fetch.
		for _, name := range append(flaky(), destExtra) {
			calls.Behave(name, b)
		}
	}
	defer tell(receivers.OK)
	moods := moods()
	ticker := time.NewTicker(stirEvery)
	defer ticker.Stop()
	for began := time.Now(); ; {
		tell(moods[int(time.Since(began)/spell)%len(moods)])
		// If this fails, the next round tries again.
		_, _ = pool.Exec(ctx, stirText, pgx.QueryExecModeSimpleProtocol)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// rescue rescues the jobs of dead processes, as River's rescuer would a minute later. No process
// may run during the call.
func rescue(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, rescueText)
	return err
}
