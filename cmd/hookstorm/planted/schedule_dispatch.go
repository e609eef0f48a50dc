package planted

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

func dispatchWithoutFence(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway")
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, gateway, "handled", calm); err != nil {
		return err
	}
	first, err := s.startToStop(ctx, "app", "dispatch_with_handlers.before_commit")
	if err != nil {
		return err
	}
	if err := s.copyJobs(ctx, "dispatch", ""); err != nil {
		return err
	}
	if _, err := s.start(ctx, "app"); err != nil {
		return err
	}
	if err := s.sees(ctx, "the second run waits for the first", `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`); err != nil {
		return err
	}
	return first.Continue()
}

// calm is an event that the application handles at once.
const calm = "calm-1"

func compensatingDelete(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway")
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, gateway, "handled", calm); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, `UPDATE hooklatch.river_job SET max_attempts = 1 WHERE kind = 'dispatch'`); err != nil {
		return err
	}
	app, err := s.start(ctx, "app", "dispatch_with_handlers.begin=error@1")
	if err != nil {
		return err
	}
	if err := s.sees(ctx, "the event is given up", `SELECT WHERE NOT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')`); err != nil {
		return err
	}
	return s.replay(ctx, app, "handled", calm)
}

func replayUnrecorded(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, serve, "github", "replayed"); err != nil {
		return err
	}
	if err := s.sees(ctx, "the event is dispatched", `SELECT FROM hooklatch.processed_events WHERE outcome = 'dispatched'`); err != nil {
		return err
	}
	return s.replay(ctx, serve, "github", "replayed")
}

func oldProcessDecides(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway")
	if err != nil {
		return err
	}
	if _, err := s.start(ctx, "worker"); err != nil {
		return err
	}
	deployed, err := s.deploy(ctx, scenario.Deployment{}.Next(scenario.RouteAdded))
	if err != nil {
		return err
	}
	if err := deployed.Pause(); err != nil {
		return err
	}
	if err := s.acknowledge(ctx, gateway, scenario.Moving, "moved"); err != nil {
		return err
	}
	if err := s.sees(ctx, "the old worker has dispatched the event, or left it to the new one", `
		SELECT FROM hooklatch.processed_events WHERE outcome = 'dispatched'
		UNION ALL
		SELECT FROM hooklatch.river_job WHERE kind = 'dispatch' AND state IN ('scheduled', 'retryable')`); err != nil {
		return err
	}
	return deployed.Continue()
}
