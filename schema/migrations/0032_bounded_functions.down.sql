-- A change of the functions' rows in the catalog: no table is locked.

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

CREATE OR REPLACE FUNCTION hooklatch.effect_headers(headers jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name   text;
    value  jsonb;
    result jsonb := '{}';
BEGIN
    IF headers IS NULL OR headers = 'null' THEN
        RETURN '{}';
    END IF;
    IF jsonb_typeof(headers) <> 'object' THEN
        RAISE EXCEPTION 'enqueue: headers must be a JSON object, not %', jsonb_typeof(headers)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR name, value IN SELECT * FROM jsonb_each(headers) LOOP
        IF jsonb_typeof(value) = 'string' THEN
            value := jsonb_build_array(value);
        END IF;
        IF jsonb_typeof(value) <> 'array' OR jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")') THEN
            RAISE EXCEPTION 'enqueue: header % must be a string or a list of strings', quote_literal(name)
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        result := result || jsonb_build_object(name, value);
    END LOOP;
    RETURN result;
END
$$;

CREATE OR REPLACE FUNCTION hooklatch.events_of_delivery(the_delivery uuid, at timestamptz, near bigint) RETURNS TABLE (source text, event_id text, erased boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    found_one record;
    strangers integer := 0;
BEGIN
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
