-- Locks: ACCESS EXCLUSIVE on three tables, for a moment. Runs that are not done are
-- forgotten; what they did by then stays done and recorded.
ALTER TABLE hooklatch.operator_log DROP COLUMN run_id;
ALTER TABLE hooklatch.event_replays DROP COLUMN run_id;
DROP TABLE hooklatch.replay_runs;
