package session

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// lookPause is the pause between two checks of the server's sessions.
const lookPause = 5 * time.Millisecond

//go:embed statement/backends.sql
var backendsSQL string

// backend is a session of one of Hooklatch's processes.
type backend struct {
	PID         int32
	Application string
	State       string
	Query       string
}

// cancelBackend waits until a backend executes a statement, and cancels the statement.
func cancelBackend(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(lookPause) {
		found, err := strikeBackend(ctx, rnd, target, true, "pg_cancel_backend")
		if !errors.Is(err, ErrNothing) {
			return found, err
		}
	}
	return Struck{}, ErrNothing
}

// terminateBackend terminates a random session, busy or idle.
func terminateBackend(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
	return strikeBackend(ctx, rnd, target, false, "pg_terminate_backend")
}

func strikeBackend(ctx context.Context, rnd *rand.Rand, target Target, working bool, function string) (Struck, error) {
	var ours []int32 // nil for all
	if target.Ours != nil {
		ours = append([]int32{}, target.Ours()...)
	}
	conn, err := target.Pool.Acquire(ctx)
	if err != nil {
		return Struck{}, err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, backendsSQL, ours, working, target.Pool.Config().ConnConfig.RuntimeParams["application_name"])
	if err != nil {
		return Struck{}, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[backend])
	if err != nil {
		return Struck{}, err
	}
	if len(found) == 0 {
		return Struck{}, ErrNothing
	}
	struck := found[rnd.IntN(len(found))]
	var done bool
	if err := conn.QueryRow(ctx, "SELECT "+function+"($1)", struck.PID).Scan(&done); err != nil {
		return Struck{}, err
	}
	if !done {
		return Struck{}, ErrNothing // the session had already ended
	}
	return Struck{What: fmt.Sprintf("backend %d of %s, %s: %s", struck.PID, struck.Application, struck.State, struck.Query)}, nil
}
