-- No argument of a function makes it work for longer than what is stored or was sent
-- justifies: a role that may execute one must not keep the server busy with a number.
--
-- A change of the functions' rows in the catalog: no table is locked.

-- Makes the partitions of today and of the given number of days after it, of every
-- table that has them, and returns for how many days some were missing. Attaching a
-- finished table needs only a SHARE UPDATE EXCLUSIVE lock, so rows go on being
-- stored meanwhile.
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
        FOREACH whole IN ARRAY ARRAY['deliveries', 'links', 'attempts', 'transitions'] LOOP
            part := whole || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('hooklatch.' || part) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE hooklatch.%I (LIKE hooklatch.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)',
                    part, whole);
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

-- Headers as the ledger keeps them: every name with a list of values. A single value may
-- be given as a string. Each name is handled once, whatever their number.
CREATE OR REPLACE FUNCTION hooklatch.effect_headers(headers jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong  text;
    result jsonb;
BEGIN
    IF headers IS NULL OR headers = 'null' THEN
        RETURN '{}';
    END IF;
    IF jsonb_typeof(headers) <> 'object' THEN
        RAISE EXCEPTION 'enqueue: headers must be a JSON object, not %', jsonb_typeof(headers)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT h.name INTO wrong
    FROM jsonb_each(headers) AS h (name, value)
    WHERE jsonb_typeof(h.value) NOT IN ('string', 'array')
        OR jsonb_typeof(h.value) = 'array' AND jsonb_path_exists(h.value, 'strict $[*] ? (@.type() != "string")')
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'enqueue: header % must be a string or a list of strings', quote_literal(wrong)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT jsonb_object_agg(h.name, CASE jsonb_typeof(h.value) WHEN 'string' THEN jsonb_build_array(h.value) ELSE h.value END) INTO result
    FROM jsonb_each(headers) AS h (name, value);
    RETURN COALESCE(result, '{}');
END
$$;

-- The events that came in one delivery, of which near is one. They took their numbers one
-- after another, but transactions that ran beside theirs took some in between: the search
-- ends where neither the numbers nor the times are near any more.
CREATE OR REPLACE FUNCTION hooklatch.events_of_delivery(the_delivery uuid, at timestamptz, near bigint) RETURNS TABLE (source text, event_id text, erased boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
-- By the index on accept_seq, whatever the statistics say: a sort would read all of it.
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    found_one record;
    strangers integer := 0;
BEGIN
    -- Without this, a time that no event has would never end the search.
    IF NOT EXISTS (
        SELECT
        FROM hooklatch.processed_events AS p
        WHERE p.accept_seq = near
            AND p.delivery_id = the_delivery
            AND p.received_at = events_of_delivery.at
    ) THEN
        RETURN;
    END IF;
    FOR found_one IN
        SELECT p.source, p.event_id, p.delivery_id, p.received_at, p.erased_at
        FROM hooklatch.processed_events AS p
        WHERE p.accept_seq >= near
        ORDER BY p.accept_seq
    LOOP
        strangers := CASE WHEN found_one.delivery_id = the_delivery THEN 0 ELSE strangers + 1 END;
        EXIT WHEN strangers > 2000 AND found_one.received_at > events_of_delivery.at + interval '30 seconds';
        IF strangers = 0 THEN
            source := found_one.source;
            event_id := found_one.event_id;
            erased := found_one.erased_at IS NOT NULL;
            RETURN NEXT;
        END IF;
    END LOOP;
    strangers := 0;
    FOR found_one IN
        SELECT p.source, p.event_id, p.delivery_id, p.received_at, p.erased_at
        FROM hooklatch.processed_events AS p
        WHERE p.accept_seq < near
        ORDER BY p.accept_seq DESC
    LOOP
        strangers := CASE WHEN found_one.delivery_id = the_delivery THEN 0 ELSE strangers + 1 END;
        EXIT WHEN strangers > 2000 AND found_one.received_at < events_of_delivery.at - interval '30 seconds';
        IF strangers = 0 THEN
            source := found_one.source;
            event_id := found_one.event_id;
            erased := found_one.erased_at IS NOT NULL;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

-- Puts a word in the place of values of a body, and leaves every other byte as it was. The
-- places are in the body, in bytes from 0, and none is in another.
-- False: the body is not, or no longer, the one the places were found in.
CREATE OR REPLACE FUNCTION hooklatch.blot_delivery(the_delivery uuid, at timestamptz, was bytea, starts integer[], lengths integer[], kind text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    word bytea := CASE kind
        WHEN 'item' THEN 'null'
        WHEN 'json' THEN '"redacted"'
        WHEN 'form' THEN 'redacted'
    END;
    origin  text;
    before  bytea;
    blotted bytea;
BEGIN
    IF word IS NULL THEN
        RAISE EXCEPTION 'blot_delivery: kind must be item, json or form'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT d.source, d.body INTO origin, before
    FROM hooklatch.stored_delivery(the_delivery, blot_delivery.at) AS d;
    IF before IS NULL OR sha256(before) <> was THEN
        RETURN false;
    END IF;
    -- Places in one another would make more of the body than there is.
    IF EXISTS (
        SELECT
        FROM (
            SELECT
                s.start::bigint AS start,
                s.length::bigint AS length,
                lag(s.start::bigint + s.length, 1, 0) OVER places AS after,
                lag(s.start::bigint, 1, -1) OVER places AS previous
            FROM unnest(starts, lengths) AS s (start, length)
            WINDOW places AS (ORDER BY s.start, s.length)
        ) AS p
        WHERE p.start IS NULL
            OR p.length IS NULL
            OR p.length < 0
            OR p.start < p.after
            OR p.start = p.previous
            OR p.start + p.length > length(before)
    ) THEN
        RAISE EXCEPTION 'blot_delivery: the places must be within the body, and apart from each other'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT string_agg(substring(before FROM p.after + 1 FOR p.start - p.after) || word, '' ORDER BY p.start) || substring(before FROM max(p.start + p.length) + 1)
    INTO blotted
    FROM (
        SELECT s.start, s.length, lag(s.start + s.length, 1, 0) OVER (ORDER BY s.start) AS after
        FROM unnest(starts, lengths) AS s (start, length)
    ) AS p;
    IF blotted IS NULL THEN
        RETURN true;
    END IF;
    PERFORM hooklatch.forget_rejected(origin, sha256(before));
    UPDATE hooklatch.deliveries AS d
    SET body = blotted
    WHERE d.delivery_id = the_delivery
        AND d.received_at = blot_delivery.at;
    UPDATE hooklatch.deliveries_kept AS d
    SET body = blotted
    WHERE d.delivery_id = the_delivery
        AND d.received_at = blot_delivery.at;
    RETURN true;
END
$$;
