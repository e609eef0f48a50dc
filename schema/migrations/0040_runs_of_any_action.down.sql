-- Runs that the processes of before would misread are stopped.
--
-- Locks: ACCESS EXCLUSIVE on replay_runs, for as long as it takes to read it once.
UPDATE hooklatch.replay_runs
SET state = 'stopped', since = now(), error = 'its action is not known to the version that the schema was taken back to'
WHERE state IN ('working', 'resting');

DROP INDEX hooklatch.replay_runs_running;

ALTER TABLE hooklatch.replay_runs
    DROP CONSTRAINT replay_runs_state,
    DROP COLUMN newer,
    ADD CONSTRAINT replay_runs_state CHECK (state IN ('running', 'paused', 'stopped', 'done', 'failed'));

CREATE INDEX replay_runs_running ON hooklatch.replay_runs (id) WHERE state = 'running';

COMMENT ON TABLE hooklatch.replay_runs IS 'An order about many events or effects: what it selects, and how far it has come.';
COMMENT ON COLUMN hooklatch.replay_runs.action IS 'What is done to each: event.replay, effect.retry, effect.park or effect.cancel.';
