-- The inbox: one small row for each event that was ever accepted, and the
-- exact bytes it came in.

CREATE SEQUENCE hooklatch.accept_seq AS bigint;

-- Never partitioned: a unique index on a partitioned table must contain the
-- partition key, which would let the same event in once per partition.
CREATE TABLE hooklatch.processed_events (
    source            text        NOT NULL,
    event_id          text        NOT NULL,
    accept_seq        bigint      NOT NULL,
    acceptance_id     uuid        NOT NULL,
    provider          text        NOT NULL,
    event_type        text        NOT NULL,
    api_version       text        NOT NULL DEFAULT '',
    occurred_at       timestamptz,
    received_at       timestamptz NOT NULL DEFAULT now(),
    delivery_id       uuid        NOT NULL,
    item              text        NOT NULL DEFAULT '',
    payload_hash      bytea       NOT NULL,
    traceparent       text        NOT NULL DEFAULT '',
    queue             text        NOT NULL,
    outcome           text        NOT NULL DEFAULT 'received',
    generation        integer     NOT NULL DEFAULT 1,
    effect_generation integer     NOT NULL DEFAULT 1,
    processed_at      timestamptz,
    config_hash       text        NOT NULL DEFAULT '',
    error             text        NOT NULL DEFAULT '',
    duplicates        bigint      NOT NULL DEFAULT 0,
    last_duplicate_at timestamptz,
    body_differs      boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (source, event_id),
    CONSTRAINT event_id_length CHECK (octet_length(event_id) BETWEEN 1 AND 255),
    CONSTRAINT event_type_length CHECK (octet_length(event_type) BETWEEN 1 AND 255),
    CONSTRAINT known_outcome CHECK (outcome IN ('received', 'dispatched', 'skipped', 'failed'))
);

COMMENT ON TABLE hooklatch.processed_events IS 'The dedup rows: one for each (source, event_id) ever accepted (I2).';
COMMENT ON COLUMN hooklatch.processed_events.acceptance_id IS 'Made by the gateway before its first try, so that a retry after a lost COMMIT answer recognises its own row.';
COMMENT ON COLUMN hooklatch.processed_events.item IS 'JSON pointer of the event inside its delivery; empty when the delivery is the event.';
COMMENT ON COLUMN hooklatch.processed_events.generation IS 'Fence of the dispatch: a replay adds one (I4).';
COMMENT ON COLUMN hooklatch.processed_events.effect_generation IS 'Generation of the effects: it follows generation when a replay asks for new keys, otherwise the old effects stand.';
COMMENT ON COLUMN hooklatch.processed_events.config_hash IS 'Hash of the configuration that dispatched or skipped the event.';

CREATE INDEX processed_events_accept_seq ON hooklatch.processed_events (accept_seq);
CREATE INDEX processed_events_undispatched ON hooklatch.processed_events (received_at) WHERE outcome = 'received';

-- Every replay a person ordered (I11).
CREATE TABLE hooklatch.event_replays (
    source       text        NOT NULL,
    event_id     text        NOT NULL,
    generation   integer     NOT NULL,
    new_keys     boolean     NOT NULL,
    requested_by text        NOT NULL DEFAULT '',
    requested_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, event_id, generation)
);

-- There is no default partition: it would block DETACH CONCURRENTLY and every
-- later CREATE. make_delivery_partitions keeps days ahead instead.
CREATE TABLE hooklatch.deliveries (
    delivery_id  uuid        NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now(),
    source       text        NOT NULL,
    headers      jsonb       NOT NULL,
    content_type text        NOT NULL,
    body         bytea       NOT NULL,
    PRIMARY KEY (delivery_id, received_at)
) PARTITION BY RANGE (received_at);

COMMENT ON TABLE hooklatch.deliveries IS 'Headers and exact body of every delivery that brought something new, partitioned by UTC day (I1).';

-- A server built without lz4 keeps its default compression.
DO $$
BEGIN
    ALTER TABLE hooklatch.deliveries ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    RAISE NOTICE 'this server was built without lz4: bodies use its default compression';
END
$$;

-- Makes the partitions of today and of the given number of days after it, and
-- returns how many were missing. Attaching a finished table needs only a SHARE
-- UPDATE EXCLUSIVE lock, so deliveries go on being stored meanwhile.
CREATE FUNCTION hooklatch.make_delivery_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date;
    day       date;
    part      text;
    made      integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hooklatch.make_delivery_partitions', 0));
    FOR offset_days IN 0..days_ahead LOOP
        day := first_day + offset_days;
        part := 'deliveries_' || to_char(day, 'YYYYMMDD');
        IF to_regclass('hooklatch.' || part) IS NULL THEN
            EXECUTE format('CREATE TABLE hooklatch.%I (LIKE hooklatch.deliveries INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)', part);
            EXECUTE format('ALTER TABLE hooklatch.deliveries ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
                part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;

-- How many whole days after today have a partition without a gap. /readyz
-- fails below 2.
CREATE FUNCTION hooklatch.delivery_days_ahead() RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    day   date := (now() AT TIME ZONE 'UTC')::date;
    ahead integer := -1;
BEGIN
    WHILE to_regclass('hooklatch.deliveries_' || to_char(day, 'YYYYMMDD')) IS NOT NULL LOOP
        ahead := ahead + 1;
        day := day + 1;
    END LOOP;
    RETURN ahead;
END
$$;
