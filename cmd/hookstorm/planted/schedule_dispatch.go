package planted

import (
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// calm is the id of an event that the application handles immediately.
const calm = "calm-1"

func dispatching() []Case {
	return []Case{
		{Bug: bugs.DispatchWithoutFence, Rules: []checker.Rule{"I10"}, run: steps{
			start("gateway"),
			acknowledge("gateway", "handled", calm),
			startToStop("app", "dispatch_with_handlers.before_commit"),
			copyJobs("dispatch", ""),
			start("app"),
			sees("the second run waits for the first", `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`),
			resumeProcess("app-2"),
		}.play},
		{Bug: bugs.CompensatingDelete, Rules: []checker.Rule{"I1"}, run: steps{
			start("gateway"),
			acknowledge("gateway", "handled", calm),
			changes(`UPDATE hooklatch.river_job SET max_attempts = 1 WHERE kind = 'dispatch'`),
			start("app", "dispatch_with_handlers.begin=error@1"),
			sees("the event is given up", `SELECT WHERE NOT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')`),
			replay("app", "handled", calm),
		}.play},
		{Bug: bugs.ReplayUnrecorded, Rules: []checker.Rule{"I11"}, run: steps{
			start("serve"),
			acknowledge("serve", "github", "replayed"),
			sees("the event is dispatched", `SELECT FROM hooklatch.processed_events WHERE outcome = 'dispatched'`),
			replay("serve", "github", "replayed"),
		}.play},
		{Bug: bugs.OldProcessDecides, Rules: []checker.Rule{checker.RuleNewest}, run: steps{
			start("gateway"),
			start("worker"),
			deploy(scenario.Deployment{}.Next(scenario.RouteAdded)),
			pauseProcess("worker"),
			acknowledge("gateway", scenario.Moving, "moved"),
			sees("the old worker has dispatched the event, or left it to the new one", `
				SELECT FROM hooklatch.processed_events WHERE outcome = 'dispatched'
				UNION ALL
				SELECT FROM hooklatch.river_job WHERE kind = 'dispatch' AND state IN ('scheduled', 'retryable')`),
			resumeProcess("worker"),
		}.play},
	}
}
