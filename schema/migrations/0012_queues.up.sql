-- Which processes work which destinations, so that effects wait where somebody
-- takes them. A new table, and a column of a small one without rewriting it: its
-- lock is held for as long as this takes.

-- Every process that performs effects has a row while it runs, and renews it. A
-- crash of the server empties the table, and the processes fill it again within
-- seconds, so it needs no WAL.
CREATE UNLOGGED TABLE hooklatch.workers (
    id           text        NOT NULL PRIMARY KEY,
    started_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL DEFAULT now(),
    config_hash  text        NOT NULL,
    destinations text[]      NOT NULL,
    queues       text[]      NOT NULL,
    CONSTRAINT one_queue_each CHECK (cardinality(destinations) = cardinality(queues))
) WITH (fillfactor = 50);

COMMENT ON COLUMN hooklatch.workers.queues IS 'The queue in which the process works the destination at the same place of destinations.';

ALTER TABLE hooklatch.destinations
    ADD COLUMN served_at timestamptz;

COMMENT ON COLUMN hooklatch.destinations.served_at IS 'When upkeep last saw a running process with this destination, to the minute. NULL: never.';
COMMENT ON COLUMN hooklatch.destinations.queue IS 'Where jobs of its effects are inserted: the queue in which the running process that started last works it.';
