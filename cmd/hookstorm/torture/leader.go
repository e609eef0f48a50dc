package torture

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed query/leader.sql
var leaderSQL string

// leader returns the worker or the application that leads River, or nil if neither does. The
// leader's id in River's table contains the process id.
func (w *world) leader(ctx context.Context) (*service, error) {
	var id string
	err := w.primary.QueryRow(ctx, leaderSQL).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no process leads
	}
	if err != nil {
		return nil, fmt.Errorf("find River's leader: %w", err)
	}
	parts := strings.FieldsFunc(id, func(r rune) bool { return r < '0' || r > '9' })
	for _, s := range w.services.of(roleWorker, roleApplication) {
		for _, part := range parts {
			if pid := s.program().PID(); pid != 0 && part == strconv.Itoa(pid) {
				return s, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // the leader is a gateway with a worker, or has just exited
}
