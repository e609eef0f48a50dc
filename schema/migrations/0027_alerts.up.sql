-- Who was told of what needs a person.
--
-- Locks: none, the tables are new.

CREATE TABLE hooklatch.alert_states (
    name       text        NOT NULL,
    subject    text        NOT NULL,
    severity   text        NOT NULL,
    message    text        NOT NULL,
    command    text        NOT NULL,
    count      bigint      NOT NULL,
    since      timestamptz,
    began_at   timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    told_at    timestamptz,
    times_told integer     NOT NULL DEFAULT 0,
    target     integer     NOT NULL DEFAULT 0,
    effect_key text        NOT NULL DEFAULT '',
    PRIMARY KEY (name, subject)
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.alert_states IS 'What needs a person, as long as it does.';
COMMENT ON COLUMN hooklatch.alert_states.since IS 'Since when it is so, as far as its rows say it.';
COMMENT ON COLUMN hooklatch.alert_states.began_at IS 'When it was seen first; seen_at is when it was seen last.';
COMMENT ON COLUMN hooklatch.alert_states.told_at IS 'When it was last told. NULL: it has not lasted long enough, or is muted.';
COMMENT ON COLUMN hooklatch.alert_states.target IS 'To which of those who are to be told, from 0, when the first did not get it.';
COMMENT ON COLUMN hooklatch.alert_states.effect_key IS 'Of the effect that tells it.';

CREATE TABLE hooklatch.alert_mutes (
    name     text        NOT NULL PRIMARY KEY,
    until    timestamptz NOT NULL,
    muted_by text        NOT NULL,
    reason   text        NOT NULL DEFAULT ''
);

COMMENT ON TABLE hooklatch.alert_mutes IS 'Conditions of which nobody is to be told for a while.';
