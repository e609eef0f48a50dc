-- Values of payloads by which operators find events, of sources with `search`. Processes of an
-- earlier version write none. They erase them, because erase_event does.
--
-- Locks: no table. It adds one, and changes functions' rows in the catalogue.

CREATE TABLE hooklatch.search_values (
    value       text COLLATE "C" NOT NULL,
    source      text COLLATE "C" NOT NULL,
    accept_seq  bigint           NOT NULL,
    received_at timestamptz      NOT NULL,
    PRIMARY KEY (value, source, accept_seq, received_at)
) PARTITION BY RANGE (received_at);

-- An erasure finds the values of an event. An ordered index would tempt the planner to read all
-- values of a day, in the order in which a search returns them.
CREATE INDEX search_values_event ON hooklatch.search_values USING hash (accept_seq);

COMMENT ON TABLE hooklatch.search_values IS 'Values of payloads by which operators find events, partitioned by the UTC day on which the event was received. They expire with the deliveries of the day.';
COMMENT ON COLUMN hooklatch.search_values.value IS 'In lower case, at most 256 bytes.';
COMMENT ON COLUMN hooklatch.search_values.accept_seq IS 'Position of the event.';

-- As before, with the days of search_values.
CREATE OR REPLACE FUNCTION hooklatch.make_delivery_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date;
    day       date;
    whole     text;
    part      text;
    missing   boolean;
    made      integer := 0;
BEGIN
    IF days_ahead IS NULL OR days_ahead NOT BETWEEN 0 AND 60 THEN
        RAISE EXCEPTION 'make_delivery_partitions: days_ahead is %; allowed: 0 to 60', COALESCE(days_ahead::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('hooklatch.make_delivery_partitions', 0));
    FOR offset_days IN 0..days_ahead LOOP
        day := first_day + offset_days;
        missing := false;
        FOREACH whole IN ARRAY ARRAY['deliveries', 'links', 'attempts', 'transitions', 'search_values'] LOOP
            part := whole || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('hooklatch.' || part) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE hooklatch.%I (LIKE hooklatch.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)',
                    part, whole);
                IF whole = 'links' THEN
                    EXECUTE format('ALTER TABLE hooklatch.%I REPLICA IDENTITY FULL', part);
                END IF;
                EXECUTE format('ALTER TABLE hooklatch.%I ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
                    whole, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
                missing := true;
            END IF;
        END LOOP;
        IF missing THEN
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;

-- As before, with the days of search_values.
CREATE OR REPLACE FUNCTION hooklatch.past_day(whole text, day date) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF whole IS NULL OR whole NOT IN ('deliveries', 'links', 'attempts', 'transitions', 'search_values') THEN
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

-- As before. An erasure and a redaction also delete the values by which the event is found.
CREATE OR REPLACE FUNCTION hooklatch.erase_event(the_source text, the_event_id text, note text, redacting boolean) RETURNS TABLE (effects bigint, others bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    known record;
    made  record;
BEGIN
    UPDATE hooklatch.processed_events AS p
    SET
        traceparent = CASE WHEN redacting THEN p.traceparent ELSE '' END,
        api_version = CASE WHEN redacting THEN p.api_version ELSE '' END,
        retry_reason = CASE WHEN redacting THEN p.retry_reason ELSE '' END,
        error = CASE WHEN redacting THEN p.error ELSE note END,
        erased_at = CASE WHEN redacting THEN p.erased_at ELSE COALESCE(p.erased_at, now()) END,
        redacted_at = CASE WHEN redacting THEN COALESCE(p.redacted_at, now()) ELSE p.redacted_at END
    WHERE p.source = the_source
        AND p.event_id = the_event_id
        AND p.outcome IN ('dispatched', 'skipped', 'dropped', 'imported')
    RETURNING p.outcome, p.accept_seq, p.delivery_id, p.received_at, p.payload_hash INTO known;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'event %/% is not there, or not finished', the_source, the_event_id
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE hooklatch.event_replays AS r
    SET previous_error = ''
    WHERE r.source = the_source
        AND r.event_id = the_event_id;
    PERFORM hooklatch.refuse_while_days_leave('{search_values}', known.received_at, known.received_at);
    DELETE FROM hooklatch.search_values AS v
    WHERE v.accept_seq = known.accept_seq
        AND v.received_at = known.received_at;
    effects := 0;
    PERFORM hooklatch.refuse_while_days_leave('{links}', known.received_at - interval '1 day', now());
    FOR made IN
        SELECT DISTINCT e.scope COLLATE "C" AS scope, e.key COLLATE "C" AS key, e.generation
        FROM hooklatch.all_links AS l
        CROSS JOIN LATERAL (
            SELECT e.scope, e.key, e.generation, e.source, e.event_id
            FROM hooklatch.effects AS e
            WHERE e.scope = l.scope
                AND e.key = l.key
                AND e.generation = l.generation
            OFFSET 0 -- each by a look-up of its own
        ) AS e
        WHERE l.source = the_source
            AND l.event_id = the_event_id
            -- What an earlier event had made is that event's.
            AND (NOT l.suppressed OR e.source = the_source AND e.event_id = the_event_id)
        ORDER BY 1, 2, 3
    LOOP
        PERFORM hooklatch.erase_effect(made.scope, made.key, made.generation, note);
        effects := effects + 1;
    END LOOP;
    others := 0;
    -- What was imported came in no delivery.
    IF NOT redacting AND known.outcome <> 'imported' THEN
        PERFORM hooklatch.forget_rejected(the_source, known.payload_hash);
        PERFORM hooklatch.lock_delivery(known.delivery_id);
        SELECT count(*) INTO others
        FROM hooklatch.events_of_delivery(known.delivery_id, known.received_at, known.accept_seq) AS one
        WHERE NOT one.erased;
        IF others = 0 THEN
            PERFORM hooklatch.empty_delivery(known.delivery_id, known.received_at, the_source);
        END IF;
    END IF;
    RETURN NEXT;
END
$$;
