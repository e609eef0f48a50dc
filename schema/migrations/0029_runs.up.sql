-- Orders about many events or effects, which are worked off in the background.
--
-- Locks: ACCESS EXCLUSIVE on event_replays and operator_log for as long as it takes to
-- add a column that is NULL everywhere. No table is rewritten.

CREATE TABLE hooklatch.replay_runs (
    id           bigint           NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text             NOT NULL DEFAULT '',
    action       text             NOT NULL,
    filter       jsonb            NOT NULL,
    most         bigint           NOT NULL DEFAULT 0,
    per_second   double precision NOT NULL DEFAULT 0,
    who          text             NOT NULL,
    role         text             NOT NULL DEFAULT '',
    via          text             NOT NULL,
    reason       text             NOT NULL DEFAULT '',
    request_id   text             NOT NULL UNIQUE,
    created_at   timestamptz      NOT NULL DEFAULT now(),
    state        text             NOT NULL DEFAULT 'running',
    since        timestamptz      NOT NULL DEFAULT now(),
    error        text             NOT NULL DEFAULT '',
    place        text             NOT NULL DEFAULT '',
    selected     bigint           NOT NULL DEFAULT 0,
    changed      bigint           NOT NULL DEFAULT 0,
    reopened     bigint           NOT NULL DEFAULT 0,
    in_doubt     bigint           NOT NULL DEFAULT 0,
    unrendered   bigint           NOT NULL DEFAULT 0,
    unclear      bigint           NOT NULL DEFAULT 0,
    total        bigint,
    worker       uuid,
    leased_until timestamptz      NOT NULL DEFAULT '-infinity',
    enqueued_at  timestamptz      NOT NULL DEFAULT now(),
    next_at      timestamptz      NOT NULL DEFAULT '-infinity',
    CONSTRAINT replay_runs_state CHECK (state IN ('running', 'paused', 'stopped', 'done', 'failed'))
);

CREATE INDEX replay_runs_running ON hooklatch.replay_runs (id) WHERE state = 'running';

COMMENT ON TABLE hooklatch.replay_runs IS 'An order about many events or effects: what it selects, and how far it has come.';
COMMENT ON COLUMN hooklatch.replay_runs.action IS 'What is done to each: event.replay, effect.retry, effect.park or effect.cancel.';
COMMENT ON COLUMN hooklatch.replay_runs.filter IS 'What selects them. Times in it stand still.';
COMMENT ON COLUMN hooklatch.replay_runs.most IS 'How many it may select, by the role of who ordered it. 0: any number.';
COMMENT ON COLUMN hooklatch.replay_runs.per_second IS 'How many are changed in a second, at most. 0: as many as can be.';
COMMENT ON COLUMN hooklatch.replay_runs.request_id IS 'That of the order: one that is given twice begins one run.';
COMMENT ON COLUMN hooklatch.replay_runs.since IS 'When it came to its state.';
COMMENT ON COLUMN hooklatch.replay_runs.error IS 'Why it failed, or stopped by itself.';
COMMENT ON COLUMN hooklatch.replay_runs.place IS 'What lies up to there is behind it. Moved in the transaction of what was changed.';
COMMENT ON COLUMN hooklatch.replay_runs.selected IS 'How many were to be changed so far. Those that were not had moved on.';
COMMENT ON COLUMN hooklatch.replay_runs.reopened IS 'How many effects the replays of events opened again.';
COMMENT ON COLUMN hooklatch.replay_runs.in_doubt IS 'How many may have been applied: changed with the others where the filter takes them, and else left out.';
COMMENT ON COLUMN hooklatch.replay_runs.unclear IS 'How many were left out because the condition failed for their events. Why is not kept: it may say what is in them.';
COMMENT ON COLUMN hooklatch.replay_runs.total IS 'How many a preview counted. NULL: nobody counted to the end.';
COMMENT ON COLUMN hooklatch.replay_runs.worker IS 'Who works it off until leased_until: no other may.';
COMMENT ON COLUMN hooklatch.replay_runs.next_at IS 'Its next batch begins no sooner, by its pace.';
COMMENT ON COLUMN hooklatch.replay_runs.enqueued_at IS 'When it was last given a job.';

ALTER TABLE hooklatch.event_replays ADD COLUMN run_id bigint;
ALTER TABLE hooklatch.operator_log ADD COLUMN run_id bigint;

COMMENT ON COLUMN hooklatch.event_replays.run_id IS 'The run that replayed it (I11). NULL: a person named the event.';
COMMENT ON COLUMN hooklatch.operator_log.run_id IS 'The run that the order began or was about. NULL: none.';
