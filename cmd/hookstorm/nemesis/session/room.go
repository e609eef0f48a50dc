package session

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	// maxDeleted is the maximum number of jobs deleted together.
	maxDeleted = 5
	// leftFree is the number of slots that stay free, for the server's operator.
	leftFree = 1
	// healPause is the pause between tries to end a simulated fault.
	healPause = 50 * time.Millisecond
)

var (
	//go:embed statement/delete_jobs.sql
	deleteJobsSQL string
	//go:embed statement/disk_full.sql
	diskFullSQL string
)

// deleteJobs deletes waiting or running jobs, as an operator who clears an unknown table might.
// Only Hooklatch's reconciler can insert these jobs again.
func deleteJobs(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
	rows, err := target.Pool.Query(ctx, deleteJobsSQL, 1+rnd.IntN(maxDeleted))
	if err != nil {
		return Struck{}, err
	}
	deleted, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return Struck{}, err
	}
	if len(deleted) == 0 {
		return Struck{}, ErrNothing
	}
	return Struck{What: fmt.Sprintf("jobs deleted: %s", deleted)}, nil
}

// fillDisk uses a trigger to make writes to a table fail as on a full disk.
func fillDisk(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
	full := append(tables(), "hooklatch.deliveries")
	table := pick(rnd, full)
	_, err := target.Pool.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d;\n%s;\n"+
		"CREATE TRIGGER hookstorm_disk_full BEFORE INSERT OR UPDATE ON %s EXECUTE FUNCTION hooklatch.hookstorm_disk_full()",
		waitTimeout.Milliseconds(), diskFullSQL, table), pgx.QueryExecModeSimpleProtocol)
	heal := func(ctx context.Context) error {
		return insist(ctx, func() error {
			_, err := target.Pool.Exec(ctx, "DROP FUNCTION IF EXISTS hooklatch.hookstorm_disk_full() CASCADE")
			return err
		})
	}
	if err != nil {
		return Struck{}, errors.Join(err, heal(ctx)) // the trigger exists if only the response to COMMIT was lost
	}
	return Struck{What: "no room left for " + table, Heal: heal}, nil
}

// insist calls the function try until it succeeds or ctx is done, because other faults may affect
// the server at the moment.
func insist(ctx context.Context, try func() error) error {
	var err error
	for range (retry.Pauses{First: healPause}).Until(ctx) {
		if err = try(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("heal: %w", err)
}

// takeSlots opens connections until the server has no slot left, and closes leftFree of them.
func takeSlots(ctx context.Context, _ *rand.Rand, target Target) (Struck, error) {
	pool := target.Pool.Config()
	var taken []*pgx.Conn
	heal := func(ctx context.Context) error {
		for _, conn := range taken {
			_ = conn.Close(ctx) // the connection is idle
		}
		taken = nil
		return nil
	}
	for {
		config := pool.ConnConfig.Copy()
		if follow := pool.BeforeConnect; follow != nil { // the primary may have changed
			if err := follow(ctx, config); err != nil {
				return Struck{}, errors.Join(err, heal(ctx))
			}
		}
		conn, err := pgx.ConnectConfig(ctx, config)
		if said, answered := errors.AsType[*pgconn.PgError](err); answered && said.Code == "53300" {
			break
		}
		if err != nil {
			return Struck{}, errors.Join(err, heal(ctx))
		}
		taken = append(taken, conn)
	}
	if len(taken) <= leftFree {
		return Struck{}, errors.Join(ErrNothing, heal(ctx))
	}
	for _, conn := range taken[:leftFree] {
		_ = conn.Close(ctx) // the connection is idle
	}
	taken = taken[leftFree:]
	return Struck{What: fmt.Sprintf("%d connections take all slots", len(taken)), Heal: heal}, nil
}
