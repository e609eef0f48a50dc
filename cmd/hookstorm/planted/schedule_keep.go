package planted

import (
	"context"
	"fmt"
	"time"
)

func retentionBelowWindow(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	const id = "delivered-again-later"
	if err := s.acknowledge(ctx, serve, "github", id); err != nil {
		return err
	}
	var accepted time.Time
	if err := s.pool.QueryRow(ctx, `SELECT now()`).Scan(&accepted); err != nil {
		return fmt.Errorf("ask for the time: %w", err)
	}
	// A worker that has the bug may have deleted it by then.
	if err := s.sees(ctx, "the event is done, and some seconds old", `
		SELECT
		WHERE now() > $1::timestamptz + interval '3 seconds'
			AND NOT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')
			AND NOT EXISTS (SELECT FROM hooklatch.effects WHERE state <> 'done')`, accepted); err != nil {
		return err
	}
	if err := s.command(ctx, serve, "retention", "run"); err != nil {
		return err
	}
	return s.acknowledge(ctx, serve, "github", id)
}
