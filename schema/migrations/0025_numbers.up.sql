-- Statistics: what happened in each minute and hour, and how the tables grow. They are
-- no facts: a process that is killed takes the counts of its last ten seconds with it.
--
-- Locks: none, the tables are new.

-- Each process adds to a row six times while its minute lasts: half of each page stays
-- free for the next version of a row, so that no index entry is written.
CREATE TABLE hooklatch.minutes (
    minute timestamptz NOT NULL,
    kind   text        NOT NULL,
    name   text        NOT NULL,
    what   text        NOT NULL,
    n      bigint      NOT NULL,
    PRIMARY KEY (minute, kind, name, what)
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.minutes IS 'How much happened in each minute, of all processes together, for 26 hours.';
COMMENT ON COLUMN hooklatch.minutes.kind IS 'Whose count it is: source, or destination.';
COMMENT ON COLUMN hooklatch.minutes.what IS 'What is counted: see the package outbox/minutes.';

CREATE TABLE hooklatch.hours (
    hour timestamptz NOT NULL,
    kind text        NOT NULL,
    name text        NOT NULL,
    what text        NOT NULL,
    n    bigint      NOT NULL,
    PRIMARY KEY (hour, kind, name, what)
);

COMMENT ON TABLE hooklatch.hours IS 'The sums of minutes, for 400 days.';

CREATE TABLE hooklatch.last_seen (
    kind    text        NOT NULL,
    name    text        NOT NULL,
    what    text        NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (kind, name, what)
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.last_seen IS 'When each thing was counted last, for 400 days: minutes do not say it of a source that is silent for longer.';

CREATE TABLE hooklatch.sizes (
    day        date   NOT NULL,
    table_name text   NOT NULL,
    rows       bigint NOT NULL,
    bytes      bigint NOT NULL,
    PRIMARY KEY (day, table_name)
);

COMMENT ON TABLE hooklatch.sizes IS 'What each table held when it was last looked at on a UTC day, its partitions, indexes and long values included, for 400 days.';
COMMENT ON COLUMN hooklatch.sizes.rows IS 'An estimate of Postgres''.';
