-- What people ordered, and what a replay replaced. A new table, and columns of a
-- small one without rewriting it: its lock is held for as long as this takes.

-- Written in the transaction of the action, so that neither is there without
-- the other. Rows are only ever added.
CREATE TABLE hooklatch.operator_log (
    id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT now(),
    who        text        NOT NULL,
    role       text        NOT NULL DEFAULT '',
    via        text        NOT NULL,
    action     text        NOT NULL,
    target     text        NOT NULL,
    filter     jsonb       NOT NULL DEFAULT '{}',
    reason     text        NOT NULL DEFAULT '',
    result     text        NOT NULL DEFAULT '',
    affected   bigint      NOT NULL,
    request_id text        NOT NULL,
    CONSTRAINT somebody CHECK (octet_length(who) BETWEEN 1 AND 255)
);

COMMENT ON TABLE hooklatch.operator_log IS 'Every action a person ordered, written in the transaction of the action.';
COMMENT ON COLUMN hooklatch.operator_log.at IS 'When the transaction of the action began.';
COMMENT ON COLUMN hooklatch.operator_log.who IS 'The person: as they named themselves on the command line, or as the console knows them.';
COMMENT ON COLUMN hooklatch.operator_log.role IS 'What the person was allowed to do, where that is managed. Empty for whoever has the database itself.';
COMMENT ON COLUMN hooklatch.operator_log.via IS 'The way it was ordered: cli, console, api, or the name of a program.';
COMMENT ON COLUMN hooklatch.operator_log.action IS 'What was ordered, like effect.retry or destination.pause.';
COMMENT ON COLUMN hooklatch.operator_log.target IS 'What it was done to: the idempotency key of an effect, source/event_id, a destination, or which part of a selection.';
COMMENT ON COLUMN hooklatch.operator_log.filter IS 'What selected the targets; {} when one was named.';
COMMENT ON COLUMN hooklatch.operator_log.reason IS 'Why, in the words of the person.';
COMMENT ON COLUMN hooklatch.operator_log.result IS 'What came of it, for people.';
COMMENT ON COLUMN hooklatch.operator_log.affected IS 'How many effects, events or destinations were changed.';
COMMENT ON COLUMN hooklatch.operator_log.request_id IS 'The same for all rows of one order. A try after a lost COMMIT answer recognises its own row by it.';

CREATE INDEX operator_log_at ON hooklatch.operator_log (at, id);
CREATE INDEX operator_log_request ON hooklatch.operator_log (request_id);

ALTER TABLE hooklatch.event_replays
    ADD COLUMN reason text NOT NULL DEFAULT '',
    ADD COLUMN previous_outcome text NOT NULL DEFAULT '',
    ADD COLUMN previous_error text NOT NULL DEFAULT '',
    ADD COLUMN previous_at timestamptz;

COMMENT ON COLUMN hooklatch.event_replays.previous_outcome IS 'Outcome of the dispatch that the replay replaced, which is no longer in processed_events. Empty in rows of before this column.';
COMMENT ON COLUMN hooklatch.event_replays.previous_error IS 'What failed then.';
COMMENT ON COLUMN hooklatch.event_replays.previous_at IS 'When that was.';
