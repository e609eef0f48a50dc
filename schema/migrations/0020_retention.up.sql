-- What is kept beyond its time because unfinished work needs it, how far retention has
-- come, and the functions by which a role that owns nothing drops a day.
--
-- Locks: SHARE UPDATE EXCLUSIVE on processed_events for the moment it takes to change
-- its settings, which keeps nobody from reading or writing. SHARE on event_replays while
-- an index of it is built: orders of replays wait, deliveries do not. Up builds the two
-- indexes that retention goes by after the last migration, concurrently.

-- Of a day that was dropped, the deliveries that unfinished work needs. Whoever reads
-- a delivery looks here second.
CREATE TABLE hooklatch.deliveries_kept (
    delivery_id  uuid        NOT NULL,
    received_at  timestamptz NOT NULL,
    source       text        NOT NULL,
    headers      jsonb       NOT NULL,
    content_type text        NOT NULL,
    body         bytea       NOT NULL,
    kept_for     bigint[]    NOT NULL,
    PRIMARY KEY (delivery_id, received_at)
);

COMMENT ON TABLE hooklatch.deliveries_kept IS 'Deliveries of days that retention dropped, as long as unfinished work needs them.';
COMMENT ON COLUMN hooklatch.deliveries_kept.kept_for IS 'accept_seq of the events that need it, or did when it was last looked at.';

DO $$
BEGIN
    ALTER TABLE hooklatch.deliveries_kept ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    RAISE NOTICE 'this server was built without lz4: bodies use its default compression';
END
$$;

CREATE TABLE hooklatch.events_kept (
    accept_seq bigint NOT NULL PRIMARY KEY
);

COMMENT ON TABLE hooklatch.events_kept IS 'Events whose time is over, but not their work: retention passed them by, and looks at them again.';

CREATE TABLE hooklatch.retention_progress (
    what          text        NOT NULL,
    source        text        NOT NULL DEFAULT '',
    horizon       timestamptz NOT NULL,
    ran_at        timestamptz NOT NULL DEFAULT now(),
    accept_seq    bigint      NOT NULL DEFAULT 0,
    oldest        timestamptz,
    day           date        NOT NULL DEFAULT '-infinity',
    day_rows      bigint      NOT NULL DEFAULT 0,
    day_bytes     bigint      NOT NULL DEFAULT 0,
    previous_rows bigint      NOT NULL DEFAULT 0,
    approved      timestamptz,
    stopped_since timestamptz,
    stopped_at    timestamptz,
    PRIMARY KEY (what, source)
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.retention_progress IS 'How far retention has come, for each kind of rows, and for events by source.';
COMMENT ON COLUMN hooklatch.retention_progress.horizon IS 'Everything older is gone, but what unfinished work keeps.';
COMMENT ON COLUMN hooklatch.retention_progress.accept_seq IS 'Of events: the next run begins behind this. Of imported keys: the smallest there is, unless a run ended on its way.';
COMMENT ON COLUMN hooklatch.retention_progress.oldest IS 'The oldest row that was left when it last ran.';
COMMENT ON COLUMN hooklatch.retention_progress.day_rows IS 'How many rows went on the UTC day of the column day; previous_rows is for the last day before it.';
COMMENT ON COLUMN hooklatch.retention_progress.approved IS 'Up to here a person let it go on, although that was more than three days at once.';
COMMENT ON COLUMN hooklatch.retention_progress.stopped_since IS 'Since when it waits for a person, because it would have deleted up to stopped_at, more than three days at once.';

-- Every process has a row while it runs, and renews it. It needs no WAL.
CREATE UNLOGGED TABLE hooklatch.processes (
    name        text        NOT NULL PRIMARY KEY,
    kind        text        NOT NULL,
    version     text        NOT NULL,
    config_hash text        NOT NULL,
    settings    jsonb       NOT NULL,
    seen_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.processes IS 'The processes that run, and how long the configuration of each has things kept: the longest counts.';
COMMENT ON COLUMN hooklatch.processes.settings IS 'Under retention, in seconds.';

-- Rows go a day at a time: a fifth of the largest table must not be dead before it is
-- vacuumed.
ALTER TABLE hooklatch.processed_events SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

CREATE INDEX event_replays_requested_at ON hooklatch.event_replays (requested_at);

-- Whoever makes or drops a partition must own the table, so the functions below act
-- for the role that migrates. They name everything they use.

ALTER FUNCTION hooklatch.make_delivery_partitions(integer) SECURITY DEFINER;
ALTER FUNCTION hooklatch.make_delivery_partitions(integer) SET search_path = pg_catalog, pg_temp;

-- The partition of a day, which must be over.
CREATE FUNCTION hooklatch.past_day(whole text, day date) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF whole IS NULL OR whole NOT IN ('deliveries', 'links', 'attempts', 'transitions') THEN
        RAISE EXCEPTION 'retention: % has no days', COALESCE(quote_literal(whole), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF day IS NULL OR day >= (now() AT TIME ZONE 'UTC')::date THEN
        RAISE EXCEPTION 'retention: the day % of % is not over', COALESCE(day::text, 'NULL'), whole
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN whole || '_' || to_char(day, 'YYYYMMDD');
END
$$;

-- Takes a day out of its table. For a moment it excludes everybody else from the
-- table, so the caller sets a short lock_timeout. The owner does better with DETACH
-- CONCURRENTLY, which no function can run.
CREATE FUNCTION hooklatch.detach_day(whole text, day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part    text := hooklatch.past_day(whole, day);
    pending boolean;
BEGIN
    SELECT inhdetachpending INTO pending
    FROM pg_inherits
    WHERE inhrelid = to_regclass('hooklatch.' || part)
        AND inhparent = to_regclass('hooklatch.' || whole);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE hooklatch.%I DETACH PARTITION hooklatch.%I %s', whole, part, CASE WHEN pending THEN 'FINALIZE' ELSE '' END);
    RETURN true;
END
$$;

-- Drops a day that was taken out of its table.
CREATE FUNCTION hooklatch.drop_day(whole text, day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part text := hooklatch.past_day(whole, day);
BEGIN
    IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass('hooklatch.' || part)) THEN
        RAISE EXCEPTION 'retention: % must be detached before it is dropped', part
            USING ERRCODE = 'object_in_use';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS hooklatch.%I', part);
END
$$;

-- Copies out of a day, attached or not, the deliveries that these events came in, and
-- returns how many were not there yet.
CREATE FUNCTION hooklatch.keep_deliveries(day date, events bigint[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part text := hooklatch.past_day('deliveries', day);
    kept integer := 0;
BEGIN
    IF to_regclass('hooklatch.' || part) IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format($copy$
        INSERT INTO hooklatch.deliveries_kept (delivery_id, received_at, source, headers, content_type, body, kept_for)
        SELECT d.delivery_id, d.received_at, d.source, d.headers, d.content_type, d.body, asked.events
        FROM (
            SELECT p.delivery_id, p.received_at, array_agg(p.accept_seq ORDER BY p.accept_seq) AS events
            FROM unnest($1) AS a (accept_seq)
            CROSS JOIN LATERAL (
                SELECT e.delivery_id, e.received_at, e.accept_seq
                FROM hooklatch.processed_events AS e
                WHERE e.accept_seq = a.accept_seq
                OFFSET 0
            ) AS p
            WHERE p.received_at >= $2
                AND p.received_at < $3
            GROUP BY p.delivery_id, p.received_at
        ) AS asked
        CROSS JOIN LATERAL (
            SELECT *
            FROM hooklatch.%I AS d
            WHERE d.delivery_id = asked.delivery_id
                AND d.received_at = asked.received_at
            OFFSET 0
            -- Who takes content away waits for the copy, or this for them.
            FOR SHARE
        ) AS d
        ORDER BY d.delivery_id
        ON CONFLICT (delivery_id, received_at) DO NOTHING
        $copy$, part)
    USING events, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC';
    GET DIAGNOSTICS kept = ROW_COUNT;
    RETURN kept;
END
$$;

-- Leaves of a day only the rows of these effects, or of links those of these events,
-- and returns how many that are. A day that was detached for it is attached again
-- once it is small, which locks nobody out.
CREATE FUNCTION hooklatch.thin_day(whole text, day date, numbers bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part   text := hooklatch.past_day(whole, day);
    thin   text := part || '_thin';
    number text := CASE whole WHEN 'links' THEN 'accept_seq' ELSE 'effect_id' END;
    kept   bigint;
BEGIN
    IF whole = 'deliveries' THEN
        RAISE EXCEPTION 'retention: of deliveries keep_deliveries keeps some' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass('hooklatch.' || part)) THEN
        EXECUTE format('DELETE FROM hooklatch.%I WHERE %I <> ALL ($1)', part, number) USING numbers;
        EXECUTE format('SELECT count(*) FROM hooklatch.%I', part) INTO kept;
        RETURN kept;
    END IF;
    EXECUTE format(
        'CREATE TABLE hooklatch.%I (LIKE hooklatch.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)',
        thin, whole);
    IF to_regclass('hooklatch.' || part) IS NOT NULL THEN
        EXECUTE format('INSERT INTO hooklatch.%I SELECT d.* FROM unnest($1) AS a (number) JOIN hooklatch.%I AS d ON d.%I = a.number', thin, part, number)
            USING numbers;
        EXECUTE format('DROP TABLE hooklatch.%I', part);
    END IF;
    EXECUTE format('SELECT count(*) FROM hooklatch.%I', thin) INTO kept;
    EXECUTE format('ALTER TABLE hooklatch.%I RENAME TO %I', thin, part);
    EXECUTE format('COMMENT ON TABLE hooklatch.%I IS %L', part, 'thin');
    EXECUTE format('ALTER TABLE hooklatch.%I ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
        whole, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
    RETURN kept;
END
$$;

REVOKE ALL ON FUNCTION hooklatch.past_day(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.detach_day(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.drop_day(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.keep_deliveries(date, bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.thin_day(text, date, bigint[]) FROM PUBLIC;
