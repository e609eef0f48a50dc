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
	// stirEvery is how often the work is made that comes seldom by itself.
	stirEvery = 300 * time.Millisecond
	// spell is how long the flaky destinations work, and then fail.
	spell = time.Second
)

//go:embed stir.sql
var stirText string

//go:embed rescue.sql
var rescueText string

// moods are what flaky destinations do, a spell each.
func moods() []receivers.Behaviour {
	return []receivers.Behaviour{receivers.ErrorBefore, receivers.OK, receivers.Switch, receivers.OK}
}

// stir makes until ctx is done what seldom happens: upkeep, queues that are paused
// and that nobody serves, a destination that is down.
func stir(ctx context.Context, pool *pgxpool.Pool, calls *receivers.Receivers) {
	tell := func(b receivers.Behaviour) {
		for _, name := range flaky() {
			calls.Behave(name, b)
		}
	}
	defer tell(receivers.OK)
	moods := moods()
	ticker := time.NewTicker(stirEvery)
	defer ticker.Stop()
	for began := time.Now(); ; {
		tell(moods[int(time.Since(began)/spell)%len(moods)])
		// What cannot be stirred now can be the next time.
		_, _ = pool.Exec(ctx, stirText, pgx.QueryExecModeSimpleProtocol)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// rescue does to the jobs of dead processes what River's rescuer does a minute
// later. It is called while no process runs.
func rescue(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, rescueText)
	return err
}
