-- Runs whose action or selection processes of before do not know. Those processes carry out
-- what is 'running', and resume what is 'paused'. A run that they would misread is 'working'
-- and 'resting' instead, and they leave it to newer processes during a rollout.
--
-- Locks: ACCESS EXCLUSIVE on replay_runs, for as long as it takes to read it once: it has a
-- row for each run.

ALTER TABLE hooklatch.replay_runs
    DROP CONSTRAINT replay_runs_state,
    ADD COLUMN newer boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT replay_runs_state CHECK (state IN ('running', 'working', 'paused', 'resting', 'stopped', 'done', 'failed'));

DROP INDEX hooklatch.replay_runs_running;

CREATE INDEX replay_runs_running ON hooklatch.replay_runs (id) WHERE state IN ('running', 'working');

COMMENT ON TABLE hooklatch.replay_runs IS 'A run: an operator action on many events, effects or refused deliveries, what it selects, and how far it has come. The name is of the first kind of run, the replay.';
COMMENT ON COLUMN hooklatch.replay_runs.action IS 'What is done to each, such as event.replay or effect.retry.';
COMMENT ON COLUMN hooklatch.replay_runs.newer IS 'Whether processes of before this column would misread the run. Its state is working or resting, where that of others is running or paused.';
